#!/usr/bin/env bash
# Replaces everything after the line <!-- measured --> of a document with standard input.
set -euo pipefail
cd "$(dirname "$0")/.."
document=$1
{
    sed '/^<!-- measured -->$/q' "$document"
    echo
    cat
} >"$document.new"
mv "$document.new" "$document"
