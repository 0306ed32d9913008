#!/usr/bin/env bash
# Clicks by ref in many situations beside Playwright's `locator.click`, and writes benchmarks/clicks.md.
# Needs Chromium, Node and npm; takes a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
playwright=$(scripts/playwright.sh)
folder=crates/telechir-browser
results=$(mktemp)
trap 'rm -f "$results"' EXIT
# The table has the situations that fail, too.
cargo test --quiet --package telechir-browser --test it -- clicks:: --nocapture --test-threads=1 >"$results" || true
node "$folder/tests/clicks/playwright.mjs" "$playwright" /usr/lib/chromium/chromium "$results" >benchmarks/clicks.md.new
mv benchmarks/clicks.md.new benchmarks/clicks.md
echo "written to benchmarks/clicks.md"
