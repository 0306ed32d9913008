#!/usr/bin/env bash
# Installs the pinned npm packages whose pages the browser's tests compare with Chromium's accessibility
# tree, in target/package-pages. Does nothing if they are installed.
#
# --table: also run these tests and write benchmarks/package-pages.md.
set -euo pipefail
cd "$(dirname "$0")/.."

source=$PWD/crates/telechir-browser/tests/package_pages
folder=target/package-pages
if ! cmp -s "$source/packages.sha256" "$folder/packages.sha256"; then
  scripts/mcp-clients.sh
  npm=$(realpath -s target/mcp-clients/python/bin/npm)
  retry=$(realpath scripts/retry.sh)
  echo "installing the pages of npm packages into $folder (some seconds)"
  rm -rf "$folder" && mkdir -p "$folder"
  cd "$folder"
  # Packages alone: their pages load nothing of their dependencies.
  mapfile -t packages < <(sed -E 's/^[0-9a-f]+  (.*)-([0-9][^-]*)\.tgz$/\1@\2/' "$source/packages.sha256")
  if ! "$retry" "$npm" pack --loglevel=error "${packages[@]}" >/dev/null; then
    echo "failed to download the pages: the npm registry must be reachable once" >&2
    exit 1
  fi
  sha256sum --quiet --check "$source/packages.sha256"
  for package in "${packages[@]}"; do
    mkdir "${package%@*}"
    tar --extract --gzip --file "${package/@/-}.tgz" --directory "${package%@*}" --strip-components 1 \
      --exclude '*.map' --exclude '*.scss' --exclude '*.ttf' --exclude '*.eot' --exclude '*.mp4' --exclude '*.psd'
  done
  rm -- *.tgz
  cp "$source/openapi.json" swagger-ui-dist
  sed --in-place 's|url: "[^"]*"|url: "openapi.json"|' swagger-ui-dist/swagger-initializer.js
  cd - >/dev/null
  # Last, so that an incomplete installation is repeated.
  cp "$source/packages.sha256" "$folder"
fi

if [[ ${1:-} == --table ]]; then
  rows=$(mktemp)
  trap 'rm -f "$rows"' EXIT
  cargo test --quiet --package telechir-browser --lib -- package_pages --nocapture --test-threads=1 \
    | sed -n 's/^.*page | /| /p' | sort >"$rows"
  {
    echo "# Pages of npm packages"
    echo
    echo "Written by \`scripts/package-pages.sh --table\`. Each control of Chromium's accessibility tree must be in the snapshot with a ref, and each ref in the views \`brief\` and \`interactive\`, or counted there as left out. Names and roles are compared where both have the control itself, names without case: Chromium applies \`text-transform\`."
    echo
    echo "| page | controls | missing | same name | same role |"
    echo "|---|---|---|---|---|"
    cat "$rows"
  } >benchmarks/package-pages.md
  echo "written to benchmarks/package-pages.md"
fi
