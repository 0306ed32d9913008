#!/usr/bin/env bash
# Counts the characters that a model receives for the same pages from telechir, Playwright MCP and
# agent-browser, and writes benchmarks/page-sizes.md. Needs Chromium, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
peers=$target/peers-page-sizes-1
if ! [[ -e $peers/complete ]]; then
    rm -rf "$peers" && mkdir -p "$peers"
    npm install --silent --no-audit --no-fund --prefix "$peers" \
        @playwright/mcp@0.0.83 agent-browser@0.41.2
    touch "$peers/complete"
fi
cargo build --quiet --package telechir-browser --example snapshot
node scripts/page-sizes.mjs "$peers" "$target/debug/examples/snapshot" >benchmarks/page-sizes.md.new
mv benchmarks/page-sizes.md.new benchmarks/page-sizes.md
echo "written to benchmarks/page-sizes.md"
