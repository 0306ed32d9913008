"""Drives a server with LangChain's adapters: `langchain_client.py PROGRAM ARGUMENT…`."""

import asyncio
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from observed import Observed, environment


async def main(program: str, arguments: list[str]) -> None:
    server = {"transport": "stdio", "command": program, "args": arguments, "env": environment()}
    client = MultiServerMCPClient({"telechir": server})
    async with client.session("telechir") as session:
        observed = Observed()
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        observed.tools = list(tools)

        async def call(name, call_arguments):
            request = {"type": "tool_call", "id": "1", "name": name, "args": call_arguments}
            message = await tools[name].ainvoke(request)
            content = message.content
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            return blocks, message.status == "error"

        await observed.run(call, has_user=False)
    observed.print()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
