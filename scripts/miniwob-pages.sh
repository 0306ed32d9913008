#!/usr/bin/env bash
# Installs the pages of MiniWoB++, pinned, in target/miniwob: tasks of other people's on which the
# browser is tried. Installed already: does nothing.
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
if ! "$folder.pip/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile \
  --require-hashes --target "$folder" --requirement "$requirements"; then
  echo "the pages of MiniWoB++ could not be installed: Python's package index must be reachable once" >&2
  exit 1
fi
rm -rf "$folder.pip"
# Last: what was installed half is installed again.
cp "$requirements" "$folder/requirements.txt"
