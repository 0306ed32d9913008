#!/usr/bin/env bash
# Writes what comes in behind the line <!-- measured --> of a document, in place of what is there.
set -euo pipefail
cd "$(dirname "$0")/.."
document=$1
{
    sed '/^<!-- measured -->$/q' "$document"
    echo
    cat
} >"$document.new"
mv "$document.new" "$document"
