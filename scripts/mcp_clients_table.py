#!/usr/bin/env python3
"""Drives `telechir mcp` with every client of scripts/mcp-clients.sh, Codex and Claude Code included,
and prints a table of what each handed to its model. Fails if one lost a text or an image.

mcp_clients_table.py PROGRAM, from the folder of the repository.
"""

import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENTS = Path("target/mcp-clients").resolve()
SCRIPTS = Path("crates/telechir/tests/mcp_clients").resolve()
PYTHON, NODE = CLIENTS / "python/bin/python", CLIENTS / "python/bin/node"
POLICY = '[[shell]]\nverdict = "ask"\nreason = "Every command."\n'
TIMEOUT_SECONDS = 180


def python_version(environment, package):
    listed = subprocess.check_output([CLIENTS / environment / "bin/pip", "list", "--format=json"], text=True)
    return next(row["version"] for row in json.loads(listed) if row["name"] == package)


def node_version(folder, package):
    manifest = CLIENTS / folder / "node_modules" / package / "package.json"
    return json.loads(manifest.read_text())["version"]


def rows():
    """Name, version, command, and whether its user can answer questions."""
    sdk = python_version("python", "mcp")
    typescript = node_version("node", "@modelcontextprotocol/client")
    codex = sorted((CLIENTS / "large/node_modules/@openai").glob("codex-linux-*/vendor/*/bin/codex"))
    claude = sorted((CLIENTS / "large/node_modules/@anthropic-ai").glob("claude-agent-sdk-linux-*/claude"))
    for era in ["modern", "legacy"]:
        yield f"Python SDK, {era}", sdk, [PYTHON, SCRIPTS / "python_sdk.py", era], True
        yield f"TypeScript SDK, {era}", typescript, [NODE, SCRIPTS / "typescript_sdk.mjs", era], True
    yield "fastmcp", python_version("python", "fastmcp"), [PYTHON, SCRIPTS / "fastmcp_client.py"], True
    agents = python_version("python", "openai-agents")
    yield "openai-agents", agents, [PYTHON, SCRIPTS / "openai_agents.py"], False
    adapters = python_version("langchain", "langchain-mcp-adapters")
    langchain = [CLIENTS / "langchain/bin/python", SCRIPTS / "langchain_client.py"]
    yield "langchain-mcp-adapters", adapters, langchain, False
    yield "@ai-sdk/mcp", node_version("node", "@ai-sdk/mcp"), [NODE, SCRIPTS / "ai_sdk.mjs"], False
    driver = [PYTHON, SCRIPTS / "model_clients.py"]
    yield "Codex", node_version("large", "@openai/codex"), [*driver, "codex", *codex], None
    sdk = json.loads((CLIENTS / "large/node_modules/@anthropic-ai/claude-agent-sdk/package.json").read_text())
    yield "Claude Code", sdk.get("claudeCodeVersion", sdk["version"]), [*driver, "claude-code", *claude], None


def run(command, program):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        runtime = Path(folder, "run")
        runtime.mkdir(mode=0o700)
        policy = Path(folder, "ask.toml")
        policy.write_text(POLICY)
        server = [program, "mcp", "--shell", "--browser", "--headless", f"--policy={policy}"]
        environment = {
            "PATH": f"{NODE.parent}:/usr/bin:/bin",
            "HOME": folder,
            "TMPDIR": folder,
            "XDG_RUNTIME_DIR": str(runtime),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TELECHIR_CLIENTS": str(CLIENTS / "node/package.json"),
        }
        ended = subprocess.run(
            [*map(str, command), *server],
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr.strip().splitlines()[-1] if ended.stderr else "no output")
    return json.loads(ended.stdout)["results"]


def text(result):
    return "".join(block.get("text", "") for block in result["blocks"])


def image(result):
    """Size and bytes of the image, or none."""
    for block in result["blocks"]:
        if block["type"] not in ("image", "file"):
            continue
        data = block.get("base64") or block.get("data") or block["image_url"].split(",", 1)[1]
        png = base64.b64decode(data["data"] if isinstance(data, dict) else data)
        if png.startswith(b"\x89PNG"):
            width, height = struct.unpack(">II", png[16:24])
            return f"{width}×{height}"
    return None


def judge(results, has_user):
    look = results["look"]
    seen = '"frame":"frame_1"' in text(look)
    error = "/seconds" in text(results["mistake"])
    if has_user is None:
        approval = "not tried"
    elif not has_user:
        approval = "cannot ask; denied" if "approv" in text(results["asked"]) else "FAILED"
    else:
        yes = r"approved\n" in text(results["asked"])
        no = r"declined\n" not in text(results["declined"])
        approval = "asked; yes and no" if yes and no else "FAILED"
    mark = lambda good: "yes" if good else "FAILED"
    return [mark(seen), image(look) or "FAILED", mark(error), approval]


def main():
    program = str(Path(sys.argv[1]).resolve())
    print("| client | version | text | image | error | approval |\n|---|---|---|---|---|---|")
    failed = False
    for name, version, command, has_user in rows():
        try:
            cells = judge(run(command, program), has_user)
        except (RuntimeError, subprocess.TimeoutExpired, KeyError) as error:
            cells = [f"FAILED: {error}", "", "", ""]
        failed = failed or any("FAILED" in cell for cell in cells)
        print(f"| {name} | {version} | {' | '.join(cells)} |", flush=True)
    sys.exit(failed)


main()
