"""Runs Codex or Claude Code with a model that is a script, and prints what the model was sent as one
JSON object: `model_clients.py codex|claude-code CLIENT PROGRAM ARGUMENT…`."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import model_servers
from observed import environment

TIMEOUT_SECONDS = 120


def codex(client, program, arguments, folder):
    model = model_servers.openai()
    config = f"""
model = "gpt-5.5"
model_provider = "script"
[model_providers.script]
name = "script"
base_url = "http://127.0.0.1:{model.port}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[mcp_servers.telechir]
command = {json.dumps(program)}
args = {json.dumps(arguments)}
default_tools_approval_mode = "approve"
[mcp_servers.telechir.env]
"""
    config += "".join(f"{name} = {json.dumps(value)}\n" for name, value in environment().items())
    (folder / "config.toml").write_text(config)
    run([client, "exec", "--skip-git-repo-check", "look"], folder, CODEX_HOME=str(folder), MODEL_KEY="x")
    return model


def claude_code(client, program, arguments, folder):
    model = model_servers.anthropic()
    server = {"command": program, "args": arguments, "env": environment()}
    servers = folder / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"telechir": server}}))
    allowed = ",".join(f"mcp__telechir__{name}" for name, _ in model_servers.PLAN)
    command = [client, "-p", "look", "--mcp-config", str(servers), "--strict-mcp-config"]
    command += ["--allowedTools", allowed, "--output-format", "json"]
    run(
        command,
        folder,
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.port}",
        ANTHROPIC_API_KEY="x",
        CLAUDE_CONFIG_DIR=str(folder),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    return model


def run(command, folder, **variables):
    ended = subprocess.run(
        command,
        cwd=folder,
        env=environment() | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    if ended.returncode != 0:
        sys.exit(f"{command[0]} exited with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")


def main():
    kind, client, program, *arguments = sys.argv[1:]
    drive = {"codex": codex, "claude-code": claude_code}[kind]
    with tempfile.TemporaryDirectory(dir=os.environ["HOME"], ignore_cleanup_errors=True) as folder:
        model = drive(client, program, arguments, Path(folder))
        seen = model.seen()
        model.close()
    results = {step: {"blocks": blocks} for step, blocks in zip(model_servers.STEPS, seen)}
    print(json.dumps({"requests": len(model.requests), "results": results}))


main()
