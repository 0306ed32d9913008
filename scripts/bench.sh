#!/usr/bin/env bash
# Measures on this machine and prints a table that can stand in a document as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
echo "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
echo
cargo bench --quiet --package telechir --bench walk
