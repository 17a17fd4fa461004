"""A run driven to its end by the official Python client: `python_client.py ONWARD`."""
import asyncio
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from project import onward, plain, waiting  # noqa: E402

from mcp import ClientSession, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

binary = os.path.abspath(sys.argv[1])


async def tool(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    value = json.loads(result.content[0].text)
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    assert value == structured, (name, value, structured)
    return value


async def drive(session, folder):
    await session.initialize()
    names = {one.name for one in (await session.list_tools()).tools}
    assert {"status", "next", "report_done"} <= names and not {"approve", "delete"} & names, names
    assert (await tool(session, "next"))["phase"]["id"] == "design"
    await tool(session, "report_start", phase="design")
    refused = await tool(session, "report_done", phase="design")
    assert refused["accepted"] is False and "design.md" in refused["reason"], refused
    Path(folder, "design.md").write_text("done\n")
    assert (await tool(session, "report_done", phase="design"))["accepted"]
    resources = (await session.list_resources()).resources
    read = await session.read_resource(resources[0].uri)
    assert "design" in read.contents[0].text
    assert (await tool(session, "report_done", phase="build"))["next"]["reason"] == "completed"


async def over_stdio():
    with waiting(binary) as folder:
        server = StdioServerParameters(command=binary, args=["mcp"], cwd=folder, env=plain())
        async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
            await drive(session, folder)
        assert json.loads(onward(binary, folder, "status", "--json"))["status"] == "completed"


asyncio.run(over_stdio())
print("a run was driven to its end over stdin and stdout")
