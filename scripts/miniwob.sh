#!/usr/bin/env bash
# Solves every task of MiniWoB++ that has a solution, five seeds each, and writes the table of
# benchmarks/miniwob.md. Takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/miniwob-pages.sh

told=$(mktemp)
trap 'rm -f "$told"' EXIT
TELECHIR_MINIWOB=all cargo test --quiet --package telechir-browser --test it -- \
  --exact miniwob::tasks_of_other_people_s_pages_are_solved --nocapture | tee "$told"
{
    echo "MiniWoB++ $(sed -n 's/^miniwob==\([^ ]*\).*/\1/p' crates/telechir-browser/tests/miniwob/requirements.txt), Chromium $(dpkg-query --show --showformat='${Version}' chromium 2>/dev/null || echo "of unknown version") headless, telechir at $(git rev-parse --short HEAD 2>/dev/null || echo "an unknown commit"). $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards."
    echo
    sed -n '/^[0-9]* of [0-9]* episodes/,/^test /p' "$told" | grep -E '^([0-9]|\||- |Not solved|$)'
} | scripts/measured.sh benchmarks/miniwob.md
echo "written to benchmarks/miniwob.md"
