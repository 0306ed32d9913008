#!/usr/bin/env bash
# Creates a Python environment in a folder, with Debian's own Python if it exists. `make setup`
# installs the package that this needs.
set -euo pipefail
python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -m venv "$1"
