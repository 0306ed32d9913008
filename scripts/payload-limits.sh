#!/usr/bin/env bash
# Decodes payloads of 100 MB in every dialect and writes memory and time into the table of
# benchmarks/payload-limits.md.
#
# BODY_BYTES: size of a payload [default: 100000000].
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
TELECHIR_BODY_BYTES=${BODY_BYTES:-100000000} cargo test --release --quiet --package telechir-providers --test it -- \
  --exact payload_limits::bodies::a_huge_payload_takes_bounded_memory_and_linear_time --nocapture | tee "$log"
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)."
    echo
    grep -o '|.*|$' "$log"
} | scripts/measured.sh benchmarks/payload-limits.md
