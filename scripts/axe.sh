#!/usr/bin/env bash
# Installs the pinned axe-core, with which a test checks the live page for WCAG 2.2, in target/axe. Does
# nothing if it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.14.1
sha256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
folder=target/axe
[ -f "$folder/axe-$version.min.js" ] && exit
scripts/mcp-clients.sh
npm=$(realpath -s target/mcp-clients/python/bin/npm)
retry=$(realpath scripts/retry.sh)
echo "installing axe-core into $folder"
mkdir -p "$folder"
cd "$folder"
if ! "$retry" "$npm" pack --loglevel=error "axe-core@$version" >/dev/null; then
  echo "failed to download axe-core: the npm registry must be reachable once" >&2
  exit 1
fi
echo "$sha256  axe-core-$version.tgz" | sha256sum --quiet --check
tar --extract --gzip --file "axe-core-$version.tgz" package/axe.min.js
mv package/axe.min.js "axe-$version.min.js"
rm -r package "axe-core-$version.tgz"
