#!/usr/bin/env bash
# Installs the SDKs of the services that rent browsers, pinned, in target/remote-sdk, and compares our
# client with them: they drive the doubles of the tests, send the same requests, and sign alike.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=crates/telechir-remote/tests/sdk/requirements.txt
folder=target/remote-sdk
if ! cmp -s "$requirements" "$folder/requirements.txt"; then
  echo "installing the SDKs into $folder"
  rm -rf "$folder"
  scripts/venv.sh "$folder"
  scripts/retry.sh "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
  # Last, so that an incomplete environment is created again.
  cp "$requirements" "$folder/requirements.txt"
fi
cargo test -p telechir-remote --test sdk
