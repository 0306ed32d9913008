#!/usr/bin/env bash
# Solves every MiniWoB++ task that has a script, five seeds each, and writes the table of
# benchmarks/miniwob.md. Takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/miniwob-pages.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
TELECHIR_MINIWOB=all cargo test --quiet --package telechir-browser --test it -- \
  --exact miniwob::tasks_of_other_people_s_pages_are_solved --nocapture | tee "$log"
{
    echo "MiniWoB++ $(sed -n 's/^miniwob==\([^ ]*\).*/\1/p' crates/telechir-browser/tests/miniwob/requirements.txt), Chromium $(dpkg-query --show --showformat='${Version}' chromium 2>/dev/null || echo "(unknown version)") headless, telechir at $(git rev-parse --short HEAD 2>/dev/null || echo "an unknown commit"). $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards."
    echo
    sed -n '/^[0-9]* of [0-9]* episodes/,/^test /p' "$log" | grep -E '^([0-9]|\||- |Not solved|$)'
} | scripts/measured.sh benchmarks/miniwob.md
echo "written to benchmarks/miniwob.md"
