#!/usr/bin/env bash
# Runs every test, then counts those that used real parts of the machine; too few is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

# The providers' own SDKs check what is encoded for them.
scripts/sdk.sh
# MiniWoB++ pages for the browser tests.
scripts/miniwob-pages.sh

tally=$(mktemp -d)
trap 'rm -rf "$tally"' EXIT
export TELECHIR_TALLY="$tally"

# The binaries that the end-to-end tests run.
cargo build --workspace --bins --quiet

cargo test --workspace --doc --quiet
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace --filterset 'not binary_id(telechir-browser::it)'
  # The browser's tests share one Chromium. nextest starts a process for each test, so they run as
  # their binary does by itself, more of them at a time than cores, because they mostly wait.
  browser_tests=$(cargo nextest list --workspace --list-type binaries-only --message-format json \
    | python3 -c 'import json, sys; print(json.load(sys.stdin)["rust-binaries"]["telechir-browser::it"]["binary-path"])')
  (
    cd crates/telechir-browser
    timeout 600 "$browser_tests" --quiet --test-threads=4 || {
      status=$?
      [ "$status" -ne 124 ] || echo "the browser's tests did not end within 600 s" >&2
      exit "$status"
    }
  )
else
  # Without nextest: two tests at a time, because they start browsers and X servers.
  cargo test --workspace --quiet --no-fail-fast -- --test-threads=2
fi
cargo run --quiet --package xtask -- coverage-floor "$tally"
