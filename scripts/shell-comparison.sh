#!/usr/bin/env bash
# Runs the command corpus in telechir's shell and in agent-framework's LocalShellTool, one after the
# other, and writes benchmarks/shell-comparison.md. Needs Python with venv, PyPI and bubblewrap.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.0.0b261022
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/peers-shell-$version
corpus=crates/telechir-shell/tests/corpus/commands.json
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import agent_framework_tools.shell' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check "agent-framework-tools==$version"

# telechir: an incorrect result fails the test and stops this script.
cargo test --quiet --package telechir-shell --test it -- corpus::

# LocalShellTool has no sandbox of its own, and some commands of the corpus are harmful.
mkdir "$scratch/work"
cp "$corpus" scripts/local_shell_tool.py "$scratch/work"
bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \
    --ro-bind "$venv" "$venv" --bind "$scratch/work" "$scratch/work" --chdir "$scratch/work" \
    "$venv/bin/python" local_shell_tool.py commands.json "$version" >"$scratch/table"
{
    cat <<'HEAD'
# The shell, compared with LocalShellTool

Written by `scripts/shell-comparison.sh`: the command corpus of the shell's tests, run in one sandboxed session of telechir and in one persistent session of `LocalShellTool` from Microsoft's agent-framework (PyPI, `agent-framework-tools`). LocalShellTool has no sandbox of its own and runs inside bubblewrap. Incorrect results are **bold**. If a session of LocalShellTool became unusable, the script replaced it before the next command; telechir uses one session throughout and reports a new shell where a command ends the shell itself.

A result is correct if it has the exit code and the output that bash gives; if a command that waits for input is reported as waiting, immediately and with its prompt; if a timeout is reported as a timeout; and if the session afterwards is unchanged or reports that it is not. LocalShellTool cannot report that a command waits for input, and cannot send input. Such commands had a timeout of 3 seconds; its default is 30.

HEAD
    cat "$scratch/table"
} >benchmarks/shell-comparison.md
echo "written to benchmarks/shell-comparison.md"
