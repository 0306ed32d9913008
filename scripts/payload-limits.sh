#!/usr/bin/env bash
# Gives every dialect bodies of a hundred million bytes (BODY_BYTES) and writes what they took into
# the table of benchmarks/payload-limits.md.
set -euo pipefail
cd "$(dirname "$0")/.."

told=$(mktemp)
trap 'rm -f "$told"' EXIT
TELECHIR_BODY_BYTES=${BODY_BYTES:-100000000} cargo test --release --quiet --package telechir-providers --test it -- \
  --exact bombs::bodies::a_huge_body_takes_a_few_times_its_size_and_as_much_time_as_it_is_long --nocapture | tee "$told"
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)."
    echo
    grep -o '|.*|$' "$told"
} | scripts/measured.sh benchmarks/payload-limits.md
