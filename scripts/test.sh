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
  cargo nextest run --workspace
else
  # Without nextest: two tests at a time, because they start browsers and X servers.
  cargo test --workspace --quiet --no-fail-fast -- --test-threads=2
fi
cargo run --quiet --package xtask -- coverage-floor "$tally"
