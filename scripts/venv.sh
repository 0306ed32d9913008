#!/usr/bin/env bash
# Makes a Python environment in a folder, with Debian's own Python where there is one: make setup
# installs what it needs for that.
set -euo pipefail
python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -m venv "$1"
