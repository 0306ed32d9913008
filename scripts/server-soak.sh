#!/usr/bin/env bash
# Many sessions and viewers at one `telechir serve`, which is killed with SIGKILL and started again under
# load. Fails if a session is lost, a command runs twice or not at all, an event is lost or doubled, a
# request fails, or memory grows. Prints a table.
#
# SHELLS, DESKTOPS, BROWSERS: sessions of each kind [default: 30, 10, 10].
# VIEWERS: people who look at them at the same time [default: 200].
# MINUTES: how long [default: 10]. KILLS: how often the server is killed [default: 3].
# PROFILE: dev or release [default: release]. TABLE: write benchmarks/server-soak.md.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/server-soak
[ -x "$environment/bin/python" ] && [ -e "$environment/complete" ] || {
  rm -rf "$environment"
  scripts/venv.sh "$environment"
  scripts/retry.sh "$environment/bin/pip" install --quiet --disable-pip-version-check aiohttp==3.13.2
  touch "$environment/complete"
}
profile=${PROFILE:-release}
export PROFILE=$profile
folder=$profile
[ "$profile" = dev ] && folder=debug
cargo build --quiet --package telechir --profile "$profile"
scratch=$(mktemp -d)
export XDG_RUNTIME_DIR=$scratch/run XDG_STATE_HOME=$scratch/state XDG_CACHE_HOME=$scratch/cache
mkdir -m 0700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME" "$XDG_CACHE_HOME"
telechir=$target/$folder/telechir
cleanup() {
  "$telechir" sessions list --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d '"' -f 4 \
    | while read -r name; do "$telechir" sessions close "$name" || true; done || true
  rm -rf "$scratch"
}
trap cleanup EXIT
"$environment/bin/python" scripts/server_soak.py "$telechir" "$scratch" | tee "$scratch/table"
[ -z "${TABLE:-}" ] || scripts/measured.sh benchmarks/server-soak.md <"$scratch/table"
