#!/usr/bin/env bash
# Runs the corpus of commands in telechir's shell and in agent-framework's LocalShellTool, one
# after the other, and writes benchmarks/shell-comparison.md. Wants Python with venv, PyPI, bubblewrap.
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

# Ours: what is wrong with one of them fails the test, and ends this.
cargo test --quiet --package telechir-shell --test it -- corpus::

# It has no sandbox of its own, and the corpus is not kind.
mkdir "$scratch/work"
cp "$corpus" scripts/local_shell_tool.py "$scratch/work"
bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \
    --ro-bind "$venv" "$venv" --bind "$scratch/work" "$scratch/work" --chdir "$scratch/work" \
    "$venv/bin/python" local_shell_tool.py commands.json "$version" >"$scratch/table"
{
    cat <<'HEAD'
# The shell beside LocalShellTool

Written by `scripts/shell-comparison.sh`: the corpus of our shell's tests, run in one sandboxed session of telechir and in one persistent session of `LocalShellTool` from Microsoft's agent-framework (PyPI, `agent-framework-tools`), inside bubblewrap because it has no sandbox. What is not right is **bold**. A session that could not be used any more was replaced by hand for the next command; telechir's is the same throughout, but where a command ends the shell itself.

Right is: the exit code and the outputs that bash gives; a command that waits for someone to type is said to wait, at once and with what it asks; a time-out is a time-out; and afterwards the session is as it was, or says that it is not. LocalShellTool has no way to say that a command waits, nor to answer one. It was given 3 seconds for such commands, 30 is its default.

HEAD
    cat "$scratch/table"
} >benchmarks/shell-comparison.md
echo "written to benchmarks/shell-comparison.md"
