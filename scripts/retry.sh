#!/usr/bin/env bash
# Runs a command up to three times, with pauses: a package registry may be slow to answer. Exits with
# the status of the last attempt.
set -euo pipefail
for pause in 5 20; do
  "$@" && exit
  echo "failed; trying again in $pause s: $*" >&2
  sleep "$pause"
done
exec "$@"
