#!/usr/bin/env bash
# Solves every MiniWoB++ task that has a script, five seeds each, then some tasks with one generic driver
# over telechir, Playwright MCP and agent-browser, and writes the tables of benchmarks/miniwob.md. Takes
# many minutes.
#
# PROGRAM: the binary for the generic driver [default: a release build].
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/miniwob-pages.sh
scripts/mcp-clients.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
peers=$target/peers-miniwob-1
if ! [[ -e $peers/complete ]]; then
    rm -rf "$peers" && mkdir -p "$peers"
    # Installation scripts would download browsers.
    PATH=$target/mcp-clients/python/bin:$PATH npm install --silent --no-audit --no-fund --ignore-scripts \
        --prefix "$peers" @playwright/mcp@0.0.83 agent-browser@0.41.2
    touch "$peers/complete"
fi
if [[ -z ${PROGRAM:-} ]]; then
    cargo build --quiet --release --package telechir
    PROGRAM=$target/release/telechir
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
TELECHIR_MINIWOB=all cargo test --quiet --package telechir-browser --test it -- \
  --exact miniwob::tasks_of_other_people_s_pages_are_solved --nocapture | tee "$log"
{
    echo "MiniWoB++ $(sed -n 's/^miniwob==\([^ ]*\).*/\1/p' crates/telechir-browser/tests/miniwob/requirements.txt), Chromium $(dpkg-query --show --showformat='${Version}' chromium 2>/dev/null || echo "(unknown version)") headless, telechir at $(git rev-parse --short HEAD 2>/dev/null || echo "an unknown commit"). $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards."
    echo
    sed -n '/^[0-9]* of [0-9]* episodes/,/^test /p' "$log" | grep -E '^([0-9]|\||- |Not solved|$)'
    echo
    echo "## The generic driver"
    echo
    "$target/mcp-clients/python/bin/python" -B scripts/miniwob_generic.py "$PROGRAM" "$peers"
} | scripts/measured.sh benchmarks/miniwob.md
echo "written to benchmarks/miniwob.md"
