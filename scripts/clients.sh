#!/usr/bin/env bash
# Drives `telechir mcp` with every MCP client, Codex and Claude Code with models that are scripts, and
# writes benchmarks/mcp-clients.md. Fails if one does not hand text and image to its model.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/mcp-clients.sh --large
cargo build --quiet --package telechir
target=${CARGO_TARGET_DIR:-target}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
cat >"$page" <<'HEAD'
# What MCP clients hand to their models

Written by `make clients`. Each client makes the same calls of `telechir mcp --shell --browser --headless`: a page, a screenshot, a call with a wrong argument and a command about which the policy asks. The table says what the client's model received; for Codex and Claude Code that is what a model server was sent.

HEAD
python3 scripts/mcp_clients_table.py "$target/debug/telechir" | tee -a "$page"
cp "$page" benchmarks/mcp-clients.md
