#!/usr/bin/env bash
# Clicks by ref in many situations beside Playwright's `locator.click`, and writes benchmarks/clicks.md.
# Needs Chromium, Node and npm; takes a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
peers=$target/peers-clicks-1
if ! [[ -e $peers/complete ]]; then
    rm -rf "$peers" && mkdir -p "$peers"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$peers" playwright-core@1.65.1
    touch "$peers/complete"
fi
folder=crates/telechir-browser
results=$(mktemp)
trap 'rm -f "$results"' EXIT
# The table has the situations that fail, too.
cargo test --quiet --package telechir-browser --test it -- clicks:: --nocapture --test-threads=1 >"$results" || true
node "$folder/tests/clicks/playwright.mjs" "$peers/node_modules" /usr/lib/chromium/chromium "$results" >benchmarks/clicks.md.new
mv benchmarks/clicks.md.new benchmarks/clicks.md
echo "written to benchmarks/clicks.md"
