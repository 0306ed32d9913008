#!/usr/bin/env bash
# Drives a session's browser through the CDP gateway with Playwright and Puppeteer, and the same browser
# without telechir; writes benchmarks/cdp-clients.md. Fails if one does not get through the page, or gets
# past the policy. Needs Chromium, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
clients=$target/cdp-clients-1
if ! [[ -e $clients/complete ]]; then
    rm -rf "$clients" && mkdir -p "$clients"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$clients" \
        playwright-core@1.65.1 puppeteer-core@24.43.1
    touch "$clients/complete"
fi
cargo build --quiet --package telechir
folder=$(mktemp -d)
running=()
finish() {
    for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap finish EXIT
export XDG_RUNTIME_DIR=$folder/run XDG_STATE_HOME=$folder/state
mkdir -m 700 "$XDG_RUNTIME_DIR"
cp crates/telechir/tests/cdp-clients/{policy.toml,page.html} "$folder"

# A port that the kernel chose is printed by each server.
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$folder" >"$folder/site.log" 2>&1 &
running+=($!)
telechir=$target/debug/telechir
"$telechir" serve --browser --headless --cdp-gateway --policy "$folder/policy.toml" \
    --listen 127.0.0.1:0 2>"$folder/serve.log" >/dev/null &
running+=($!)
scripts/foreign-chromium.sh "$folder" &
running+=($!)

# The first address in a log.
address() {
    for _ in $(seq 300); do
        if grep -som1 "$2" "$1"; then return; fi
        sleep 0.1
    done
    echo "no address in $1" >&2
    return 1
}
port=$(address "$folder/site.log" 'port [0-9]*' | cut -d' ' -f2)
api=$(address "$folder/serve.log" 'http://127.0.0.1:[0-9]*')
direct=$(address "$folder/chromium.log" 'ws://[^ ]*')
page=http://127.0.0.1:$port/page.html
token=$("$telechir" tokens new agent)
post() {
    curl -sS --fail-with-body -X POST -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' "$api$1" -d "$2"
}
member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
session=$(post /v1/sessions '{"devices": ["browser"]}' | member id)
gateway=$(post "/v1/sessions/$session/cdp" '' | member url)
drive() { node "crates/telechir/tests/cdp-clients/$1.mjs" "$clients/node_modules" "$2" "$page" "${@:3}"; }
playwright=$(drive playwright "$gateway")
puppeteer=$(drive puppeteer "$gateway")
alone=$(drive playwright "$direct" clicks)
python3 "$root/crates/telechir/tests/cdp-clients/table.py" "$playwright" "$puppeteer" "$alone" \
    >"$folder/table.md"
mv "$folder/table.md" benchmarks/cdp-clients.md
curl -sS -X DELETE -H "Authorization: Bearer $token" "$api/v1/sessions/$session"
echo "written to benchmarks/cdp-clients.md"
