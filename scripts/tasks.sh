#!/usr/bin/env bash
# Performs tasks in real programs ten times each and writes the table of benchmarks/tasks.md.
# RUNS: repetitions [default: 10].
set -euo pipefail
cd "$(dirname "$0")/.."
APPLICATIONS=1 scripts/setup.sh

cargo build --quiet --package telechir
log=$(mktemp)
trap 'rm -f "$log"' EXIT
done=0
python3 scripts/tasks.py target/debug/telechir | tee "$log" || done=1
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards; $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)."
    echo
    cat "$log"
} | scripts/measured.sh benchmarks/tasks.md
exit "$done"
