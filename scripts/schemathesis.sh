#!/usr/bin/env bash
# Sends generated requests to a running `telechir serve`, by its own OpenAPI document, as an agent, a
# viewer and an operator. Fails on an answer that the document does not have, or a status of 500.
# Not sent: the stream of all events, which has no end.
# ROLES: whose tokens [default: agent viewer operator]. EXAMPLES: requests of each kind for each operation [default: 30].
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
environment=$target/schemathesis
[ -x "$environment/bin/schemathesis" ] || {
  scripts/venv.sh "$environment"
  "$environment/bin/pip" install --quiet schemathesis==4.32.0
}
cargo build --quiet --package telechir
scratch=$(mktemp -d)
export XDG_RUNTIME_DIR=$scratch/run XDG_STATE_HOME=$scratch/state
mkdir -m 0700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"
cleanup() {
  kill "$server" 2>/dev/null && wait "$server" || true
  "$target/debug/telechir" sessions list --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d '"' -f 4 \
    | while read -r name; do "$target/debug/telechir" sessions close "$name" || true; done || true
  rm -rf "$scratch"
}
"$target/debug/telechir" serve --shell --max-sessions 4 --record "$scratch/recordings" \
  --listen 127.0.0.1:0 2>"$scratch/log" &
server=$!
trap cleanup EXIT
until address=$(grep -o 'http://[0-9.:]*' "$scratch/log"); do kill -0 "$server"; sleep 0.1; done
for role in ${ROLES:-agent viewer operator}; do
  token=$("$target/debug/telechir" tokens new "$role")
  echo "as $role"
  (cd "$scratch" && "$environment/bin/schemathesis" run "$address/v1/openapi.json" \
    --header "Authorization: Bearer $token" --checks all --max-examples "${EXAMPLES:-30}" \
    --exclude-checks positive_data_acceptance,ignored_auth,unsupported_method \
    --exclude-operation-id followAllEvents \
    --request-timeout 60 --no-color)
done
