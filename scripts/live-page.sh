#!/usr/bin/env bash
# Compares the live page with noVNC over x11vnc and with agent-browser's dashboard, and writes
# benchmarks/live-page.md: the time from a change on the screen until the viewer's canvas shows it, what a
# viewer costs while nothing changes, and what viewers that never take an update cost. Installs the peers.
#
# CHANGES: changes for each way, in turns of ten [default: 60]. PROFILE: dev or release [default: release].
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
missing=()
for package in novnc x11vnc websockify; do
  dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  run=()
  [ "$(id -u)" -eq 0 ] || run=(sudo -n)
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/live-page
[ -e "$environment/complete" ] || {
  rm -rf "$environment"
  scripts/venv.sh "$environment"
  scripts/retry.sh "$environment/bin/pip" install --quiet --disable-pip-version-check aiohttp==3.13.2 python-xlib==0.33
  scripts/mcp-clients.sh
  PATH=$(realpath -s target/mcp-clients/python/bin):$PATH scripts/retry.sh npm install --no-audit --no-fund \
    --loglevel=error --ignore-scripts --prefix "$environment" agent-browser@0.41.2
  touch "$environment/complete"
}
profile=${PROFILE:-release}
folder=$profile
[ "$profile" = dev ] && folder=debug
cargo build --quiet --package telechir --profile "$profile"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_RUNTIME_DIR=$scratch/run XDG_STATE_HOME=$scratch/state HOME=$scratch/home
mkdir -m 0700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME" "$HOME"
export PROFILE=$profile
"$environment/bin/python" scripts/live_page.py "$target/$folder/telechir" "$environment" "$scratch" >"$scratch/table"
scripts/measured.sh benchmarks/live-page.md <"$scratch/table"
