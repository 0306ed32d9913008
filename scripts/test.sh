#!/usr/bin/env bash
# Runs every test, then fails if one took too long or ran twice, or if too few used real parts of
# the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

# The providers' own SDKs check what is encoded for them.
scripts/sdk.sh
# MCP clients that people use drive `telechir mcp`.
scripts/mcp-clients.sh
# Pages of MiniWoB++ and of npm packages for the browser tests.
scripts/miniwob-pages.sh
scripts/package-pages.sh
# The rules by which the live page is checked.
scripts/axe.sh

tally=$(mktemp -d)
trap 'rm -rf "$tally"' EXIT
export TELECHIR_TALLY="$tally"

# In one build with the binaries that the end-to-end tests run: a build of these alone would leave
# out features that only tests enable, and so compile most crates twice.
cargo build --workspace --bins --tests --quiet

# nextest writes here whatever CARGO_TARGET_DIR says.
report=target/nextest/default/junit.xml
if cargo nextest --version >/dev/null 2>&1; then
  rm -f "$report"
  # Most tests wait for a server, a browser or a shell. Tests that compute take two places.
  cargo nextest run --workspace --lib --bins --tests --test-threads $((2 * $(nproc))) \
    --filterset 'not binary_id(telechir-browser::it)'
  cargo run --quiet --package xtask -- slow-tests "$report"
  # The browser's tests share one Chromium. nextest starts a process for each test, so they run as
  # their binary does by itself, more of them at a time than cores, because they mostly wait.
  browser_tests=$(cargo nextest list --workspace --list-type binaries-only --message-format json \
    | python3 -c 'import json, sys; print(json.load(sys.stdin)["rust-binaries"]["telechir-browser::it"]["binary-path"])')
  times=$(realpath "$(dirname "$report")")/browser.txt
  (
    cd crates/telechir-browser
    # The variable lets a stable toolchain report times.
    RUSTC_BOOTSTRAP=1 timeout 1200 "$browser_tests" --test-threads=$((2 * $(nproc))) \
      -Z unstable-options --report-time >"$times" 2>&1 || {
      status=$?
      cat "$times"
      [ "$status" -ne 124 ] || echo "the browser's tests did not end within 1200 s" >&2
      exit "$status"
    }
  )
  tail -n 2 "$times"
  cargo run --quiet --package xtask -- slow-tests "$times"
else
  # Without nextest: two tests at a time, because they start browsers and X servers.
  cargo test --workspace --quiet --no-fail-fast --lib --bins --tests -- --test-threads=2
fi
# Few, and each must be compiled.
cargo test --workspace --doc --quiet
cargo run --quiet --package xtask -- coverage-floor "$tally"
