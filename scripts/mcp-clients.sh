#!/usr/bin/env bash
# Installs MCP clients, pinned, in target/mcp-clients: for Python, for Node, and Node itself, which
# Debian 12 has in an older version. Does nothing if they exist.
#
# --large: also Codex and Claude Code (hundreds of megabytes).
set -euo pipefail
cd "$(dirname "$0")/.."

source=crates/telechir/tests/mcp_clients
folder=target/mcp-clients
pip=(bin/pip install --quiet --disable-pip-version-check --no-deps --requirement)
# npm warns about settings of the user's that it does not know.
npm() { scripts/retry.sh "$folder/python/bin/npm" ci --loglevel=error --no-audit --no-fund --ignore-scripts --prefix "$1"; }

pinned=$(cat "$source"/*requirements.txt "$source/package-lock.json" | sha256sum)
if [[ $(cat "$folder/complete" 2>/dev/null) != "$pinned" ]]; then
  echo "installing MCP clients into $folder (about a minute)"
  rm -rf "$folder"
  mkdir -p "$folder/node"
  cp "$source/package.json" "$source/package-lock.json" "$folder/node"
  # A process group of its own, which is ended as a whole if the rest fails.
  set -m
  (
    set +m
    scripts/venv.sh "$folder/langchain"
    scripts/retry.sh "$folder/langchain/${pip[0]}" "${pip[@]:1}" "$source/langchain-requirements.txt"
  ) &
  langchain=$!
  set +m
  trap 'kill -- "-$langchain" 2>/dev/null || true' EXIT
  scripts/venv.sh "$folder/python"
  scripts/retry.sh "$folder/python/${pip[0]}" "${pip[@]:1}" "$source/requirements.txt"
  npm "$folder/node"
  wait "$langchain"
  trap - EXIT
  # Last, so that an incomplete installation is repeated.
  echo "$pinned" >"$folder/complete"
fi

if [[ ${1:-} == --large ]]; then
  pinned=$(sha256sum <"$source/large/package-lock.json")
  if [[ $(cat "$folder/large/complete" 2>/dev/null) != "$pinned" ]]; then
    echo "installing Codex and Claude Code into $folder/large"
    rm -rf "$folder/large"
    mkdir -p "$folder/large"
    cp "$source/large/package.json" "$source/large/package-lock.json" "$folder/large"
    npm "$folder/large"
    echo "$pinned" >"$folder/large/complete"
  fi
fi
