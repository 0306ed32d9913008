#!/usr/bin/env bash
# Runs every test, then says how many used real parts of the machine; too few is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

# What we write for a provider is checked by the types of its own SDK.
scripts/sdk.sh
# Other people's pages, on which the browser is tried.
scripts/miniwob-pages.sh

tally=$(mktemp -d)
trap 'rm -rf "$tally"' EXIT
export TELECHIR_TALLY="$tally"

# The binary and the recorded model, for the tests that run them as a user would.
cargo build --workspace --bins --quiet

cargo test --workspace --doc --quiet
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace
else
  # The same tests without the runner. Two at a time: they start browsers and X servers.
  cargo test --workspace --quiet --no-fail-fast -- --test-threads=2
fi
cargo run --quiet --package xtask -- tally "$tally"
