#!/usr/bin/env bash
# Clicks through a proxy with the latency of a network, beside Playwright's connectOverCDP; writes
# benchmarks/remote-clicks.md. Needs Chromium, Node and npm; takes half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
playwright=$(scripts/playwright.sh)
cargo build --quiet --package telechir-browser --example remote_clicks
folder=$(mktemp -d)
chromium=
finish() {
    if [[ -n $chromium ]]; then kill "$chromium" 2>/dev/null || true; wait; fi
    rm -rf "$folder"
}
trap finish EXIT
scripts/foreign-chromium.sh "$folder" &
chromium=$!
for _ in $(seq 300); do
    if address=$(grep -som1 'ws://[^ ]*' "$folder/chromium.log"); then break; fi
    sleep 0.1
done
: "${address:?Chromium did not start}"
node crates/telechir-browser/tests/remote-clicks/compare.mjs "$playwright" \
    "$target/debug/examples/remote_clicks" "$address" >"$folder/table.md"
mv "$folder/table.md" benchmarks/remote-clicks.md
echo "written to benchmarks/remote-clicks.md"
