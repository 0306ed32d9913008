#!/usr/bin/env bash
# Reads the elements of large programs while their dialogs open and close, counts the rounds that
# they survive, and writes benchmarks/reading.md. Needs LibreOffice, Firefox ESR and GIMP.
# READING_ROUNDS: rounds per program [default: 200].
set -euo pipefail
cd "$(dirname "$0")/.."
export TELECHIR_READING_ROUNDS=${READING_ROUNDS:-200}
results=$(mktemp)
trap 'rm -f "$results"' EXIT
failed=0
cargo test --quiet --package telechir-atspi --test it -- reading:: --nocapture --test-threads=1 | tee "$results" || failed=1
versions=$(dpkg-query -W -f '${Package} ${Version}, ' libreoffice-core firefox-esr gimp libatk-bridge2.0-0 2>/dev/null || true)
{
  echo "# Reading elements"
  echo
  echo "Written by \`scripts/reading.sh\`: keys open and close dialogs, menus and tabs, and all elements are read after each key. A round is survived if the program still runs and reports no crash. Versions: ${versions%, }."
  echo
  echo "| program | rounds survived | readings | most elements | longest reading |"
  echo "|---|---|---|---|---|"
  sed -n 's/.*reading: //p' "$results"
} >benchmarks/reading.md
echo "written to benchmarks/reading.md"
exit "$failed"
