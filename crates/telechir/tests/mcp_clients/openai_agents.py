"""Drives a server as an agent of OpenAI's SDK does, and prints what its model would receive:
`openai_agents.py PROGRAM ARGUMENT…`."""

import asyncio
import json
import os
import sys

os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

from agents import RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil

from observed import Observed, environment


async def main(program: str, arguments: list[str]) -> None:
    params = {"command": program, "args": arguments, "env": environment()}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
        observed = Observed()
        tools = {tool.name: tool for tool in await server.list_tools()}
        observed.tools = list(tools)

        async def call(name, call_arguments):
            seen = await MCPUtil.invoke_mcp_tool(
                server, tools[name], RunContextWrapper(None), json.dumps(call_arguments)
            )
            # A single block comes without a list.
            blocks = seen if isinstance(seen, list) else [seen]
            return [block if isinstance(block, dict) else block.model_dump() for block in blocks], None

        await observed.run(call, has_user=False)
    observed.print()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
