"""Runs the command corpus with agent-framework's LocalShellTool and prints a table of the results."""

import asyncio
import json
import sys
import time

from agent_framework_tools.shell import LocalShellTool

LIMIT = 3.0  # seconds, for a command without a time limit in the corpus


def ours(case):
    """The telechir column: the outcome that the corpus test asserts."""
    outcome = case["outcome"]
    if outcome == "awaiting_input":
        prompt = case.get("prompt", "")
        return f"awaiting input: {case['kind']}" + (f", “{prompt}”" if prompt else "")
    if outcome == "timeout":
        return "timeout, session continues"
    text = f"exit {case['exit']}"
    return text + (", reports a new shell" if case.get("lost") else "")


async def run(tool, line, limit):
    began = time.monotonic()
    try:
        result = await asyncio.wait_for(tool.run(line, timeout=limit), limit + 20)
        found = {
            "exit": result.exit_code,
            "out": result.stdout,
            "err": result.stderr,
            "timeout": result.timed_out,
        }
    except Exception as error:  # noqa: BLE001
        found = {"raises": type(error).__name__}
    return found | {"seconds": time.monotonic() - began}


def new():
    return LocalShellTool(
        mode="persistent",
        confine_workdir=False,
        approval_mode="never_require",
        acknowledge_unsafe=True,
        max_output_bytes=64 * 1024,
    )


async def check(tool, case):
    """Returns the result as text, whether it is correct, and whether the session is still usable."""
    limit = case.get("timeout_ms", case.get("within_ms", LIMIT * 1000)) / 1000
    await run(tool, "kept=1", 5)
    found = await run(tool, case["run"], limit)
    wrong_left = False
    if "left" in case and case["outcome"] != "awaiting_input":
        left = await run(tool, case["left"][0], 5)
        if left.get("out", "").rstrip("\n") != case["left"][1].rstrip("\n"):
            wrong_left = True
    after = await run(tool, 'echo "usable $kept"', 5)
    usable = after.get("out", "").strip().splitlines()[-1:] or [""]
    wrong = []
    words = []
    if "raises" in found:
        words.append(f"raises {found['raises']}")
        wrong.append("raises")
    elif found["timeout"]:
        words.append(f"timed out after {found['seconds']:.1f} s")
        if case["outcome"] != "timeout":
            wrong.append("hangs")
    else:
        words.append(f"exit {found['exit']}")
        if case["outcome"] in ("awaiting_input", "timeout") or found["exit"] != case["exit"]:
            wrong.append("exit")
        if "out" in case and found["out"].rstrip("\n") != case["out"].rstrip("\n"):
            words.append("wrong output")
            wrong.append("out")
        # Each tool has its own text for shortened output.
        wanted = case.get("err_has", "")
        if wanted not in found["err"] and "left out" not in wanted:
            words.append("stderr text missing")
            wrong.append("err")
    if wrong_left:
        words.append("later output appears in the next command's result")
        wrong.append("left")
    if usable[0] == "usable 1":
        pass
    elif usable[0].startswith("usable"):
        words.append("variables lost silently")
        wrong.append("lost")
    else:
        words.append("the next command fails too")
        wrong.append("unusable")
    return ", ".join(words), not wrong, usable[0] == "usable 1"


async def main(corpus, version):
    with open(corpus, encoding="utf-8") as file:
        cases = json.load(file)
    rows, right = [], 0
    tool = new()
    for case in cases:
        words, is_right, is_usable = await check(tool, case)
        right += is_right
        if not is_usable:
            try:
                await asyncio.wait_for(tool.close(), 10)
            except Exception:  # noqa: BLE001
                pass
            tool = new()
        line = case["run"].replace("|", "\\|").replace("\n", "⏎")
        rows.append(f"| {case['name']} | `` {line} `` | {ours(case)} | {'' if is_right else '**'}{words}{'' if is_right else '**'} |")
        print(f"{case['name']}: {words}", file=sys.stderr)
    print(f"Correct: telechir {len(cases)} of {len(cases)}, LocalShellTool {version} {right} of {len(cases)}.\n")
    print("| case | command | telechir | LocalShellTool |\n|---|---|---|---|")
    print("\n".join(rows))


asyncio.run(main(*sys.argv[1:]))
