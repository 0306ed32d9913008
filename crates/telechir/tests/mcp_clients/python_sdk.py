"""Drives a server with the official Python SDK: `python_sdk.py ERA PROGRAM ARGUMENT…`."""

import sys

import anyio
import mcp_types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from observed import ANSWERS, Observed, environment


async def main(era: str, program: str, arguments: list[str]) -> None:
    answers = list(ANSWERS)

    async def ask(_context, _params):
        action, content = answers.pop(0)
        return mcp_types.ElicitResult(action=action, content=content)

    server = StdioServerParameters(command=program, args=arguments, env=environment())
    mode = {"modern": "auto", "legacy": "legacy"}[era]
    async with Client(server, mode=mode, elicitation_callback=ask) as client:
        observed = Observed(protocol=client.protocol_version)
        observed.tools = [tool.name for tool in (await client.list_tools()).tools]

        async def call(name, call_arguments):
            result = await client.call_tool(name, call_arguments)
            return [block.model_dump(by_alias=True) for block in result.content], bool(result.is_error)

        await observed.run(call, has_user=True)
    observed.print()


anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3:])
