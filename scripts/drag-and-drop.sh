#!/usr/bin/env bash
# Drags twenty times each in real programs and writes the table of benchmarks/drag-and-drop.md.
# DRAGS: repetitions [default: 20].
set -euo pipefail
cd "$(dirname "$0")/.."
APPLICATIONS=1 scripts/setup.sh

cargo build --quiet --package telechir
log=$(mktemp)
trap 'rm -f "$log"' EXIT
python3 scripts/drag_and_drop.py target/debug/telechir | tee "$log"
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards; $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)."
    echo
    cat "$log"
} | scripts/measured.sh benchmarks/drag-and-drop.md
if grep -v "$(printf '%s of %s' "${DRAGS:-20}" "${DRAGS:-20}")" "$log" | tail -n +3 | grep -q .; then
    echo "Some drags did not land." >&2
    exit 1
fi
