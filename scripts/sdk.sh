#!/usr/bin/env bash
# Creates a Python environment with the providers' own SDKs, pinned, in target/sdk, and copies the
# scripts there that validate documents with their types. Installs nothing if it exists.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=crates/telechir-providers/tests/sdk/requirements.txt
folder=target/sdk
copy_checks() {
  mkdir -p "$folder/check"
  cp crates/telechir-providers/tests/sdk/*.py "$folder/check"
}
if cmp -s "$requirements" "$folder/requirements.txt"; then
  copy_checks
  exit 0
fi
echo "installing the providers' SDKs into $folder (about 20 seconds)"
rm -rf "$folder"
scripts/venv.sh "$folder"
scripts/retry.sh "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$requirements"
copy_checks
# Last, so that an incomplete environment is created again.
cp "$requirements" "$folder/requirements.txt"
