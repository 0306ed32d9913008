"""Drives a server with fastmcp: `fastmcp_client.py PROGRAM ARGUMENT…`."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport

from observed import ANSWERS, Observed, environment


async def main(program: str, arguments: list[str]) -> None:
    answers = list(ANSWERS)

    async def ask(_message, _type, _params, _context):
        action, content = answers.pop(0)
        return ElicitResult(action=action, content=content)

    transport = StdioTransport(program, arguments, env=environment())
    async with Client(transport, elicitation_handler=ask) as client:
        observed = Observed()
        observed.tools = [tool.name for tool in await client.list_tools()]

        async def call(name, call_arguments):
            result = await client.call_tool(name, call_arguments, raise_on_error=False)
            return [block.model_dump(by_alias=True) for block in result.content], result.is_error

        await observed.run(call, has_user=True)
    observed.print()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
