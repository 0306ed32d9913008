#!/usr/bin/env bash
# Installs the pinned pages of MiniWoB++ into target/miniwob, for the browser's tests. Does nothing
# if they are installed.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=crates/telechir-browser/tests/miniwob/requirements.txt
folder=target/miniwob
if cmp -s "$requirements" "$folder/requirements.txt"; then
  exit 0
fi
echo "installing the pages of MiniWoB++ into $folder (a few seconds)"
rm -rf "$folder" "$folder.pip"
scripts/venv.sh "$folder.pip"
if ! scripts/retry.sh "$folder.pip/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile \
  --require-hashes --target "$folder" --requirement "$requirements"; then
  echo "failed to install the pages of MiniWoB++: the Python package index must be reachable once" >&2
  exit 1
fi
rm -rf "$folder.pip"
# Last, so that an incomplete installation is repeated.
cp "$requirements" "$folder/requirements.txt"
