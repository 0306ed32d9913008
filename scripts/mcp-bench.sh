#!/usr/bin/env bash
# Measures `telechir mcp` beside other MCP servers, all through the Python SDK, and writes
# benchmarks/mcp.md. Needs an idle machine. A server that cannot be installed is named as missing.
#
# PROGRAM: measure this binary [default: a release build].
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/mcp-clients.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
peers=$target/peers-mcp-1
if ! [[ -e $peers/complete ]]; then
  echo "installing for comparison: three MCP servers, for Node, in $peers"
  rm -rf "$peers" && mkdir -p "$peers"
  # Installation scripts would download browsers.
  for package in @playwright/mcp@0.0.83 chrome-devtools-mcp@1.11.0 @wonderwhy-er/desktop-commander@0.2.52; do
    PATH=$target/mcp-clients/python/bin:$PATH scripts/retry.sh npm install --silent --no-audit --no-fund --ignore-scripts \
      --prefix "$peers" "$package" || echo "failed to install $package; the tables name it as missing" >&2
  done
  touch "$peers/complete"
fi
if [[ -z ${PROGRAM:-} ]]; then
  cargo build --quiet --release --package telechir
  PROGRAM=$target/release/telechir
fi
page=$(mktemp)
# A screen for the browsers of the others, in a window.
exec 3< <(exec Xvfb -displayfd 1 -screen 0 1280x1024x24 -nolisten tcp 2>/dev/null)
screen=$!
trap 'rm -f "$page"; kill "$screen"' EXIT
read -r display <&3
export DISPLAY=:$display
"$target/mcp-clients/python/bin/python" -B scripts/mcp_bench.py "$PROGRAM" "$peers" >"$page"
cp "$page" benchmarks/mcp.md
echo "written to benchmarks/mcp.md"
