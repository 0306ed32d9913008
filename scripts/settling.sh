#!/usr/bin/env bash
# Performs more than a hundred actions on real applications and compares the screenshot after each
# one with the screen two seconds later. Writes the table of benchmarks/settling.md.
set -euo pipefail
cd "$(dirname "$0")/.."
APPLICATIONS=1 scripts/setup.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
TELECHIR_SETTLING=all cargo test --quiet --package telechir-x11 --test it -- \
  --exact corpus::settled_screenshots_of_all_applications_are_the_last --nocapture | tee "$log"
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg) afterwards; $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)."
    echo
    grep -E '^(\||Not final|Unannounced effect)' "$log" | sed 's/^\(Not final\|Unannounced effect\)/\n&/'
} | scripts/measured.sh benchmarks/settling.md
