#!/usr/bin/env bash
# Installs playwright-core once and prints the folder of node_modules that has it. Needs Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$(realpath -m "${CARGO_TARGET_DIR:-target}")/peers-clicks-1
if ! [[ -e $peers/complete ]]; then
    rm -rf "$peers" && mkdir -p "$peers"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$peers" playwright-core@1.65.1 >&2
    touch "$peers/complete"
fi
echo "$peers/node_modules"
