#!/usr/bin/env bash
# Clicks through a proxy with the latency of a network, beside Playwright's connectOverCDP; writes
# benchmarks/remote-clicks.md. Needs Chromium, Node and npm; takes half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
peers=$target/peers-clicks-1
if ! [[ -e $peers/complete ]]; then
    rm -rf "$peers" && mkdir -p "$peers"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$peers" playwright-core@1.65.1
    touch "$peers/complete"
fi
cargo build --quiet --package telechir-browser --example remote_clicks
folder=$(mktemp -d)
chromium=
finish() {
    if [[ -n $chromium ]]; then kill "$chromium" 2>/dev/null || true; wait; fi
    rm -rf "$folder"
}
trap finish EXIT
# Chromium's own sandbox needs a user that is not root.
unprivileged=()
mkdir "$folder/profile"
if [ "$(id -u)" = 0 ]; then
    unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 "$folder" && chown 65534:65534 "$folder/profile"
fi
HOME=$folder/profile "${unprivileged[@]}" /usr/lib/chromium/chromium --headless --remote-debugging-port=0 \
    --disable-background-networking --disable-component-update --no-first-run \
    --user-data-dir="$folder/profile" about:blank >/dev/null 2>"$folder/chromium.log" &
chromium=$!
for _ in $(seq 300); do
    if address=$(grep -om1 'ws://[^ ]*' "$folder/chromium.log"); then break; fi
    sleep 0.1
done
node crates/telechir-browser/tests/remote-clicks/compare.mjs "$peers/node_modules" \
    "$target/debug/examples/remote_clicks" "$address" >"$folder/table.md"
mv "$folder/table.md" benchmarks/remote-clicks.md
echo "written to benchmarks/remote-clicks.md"
