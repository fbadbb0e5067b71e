"""`handoff mcp`: a server of the Model Context Protocol on stdin and stdout."""

import json

from handoff_cli.context import Context
from handoff_cli.inside.mcp.protocol import Server
from handoff_cli.inside.mcp.tools import PROMPTS, Tools, tools


def mcp(context: Context) -> int:
    """Serve until stdin ends."""
    agent = context.args.agent
    server = Server(tools(reads=agent is not None), PROMPTS, Tools(context, agent).call)
    for line in context.terminal.stdin.buffer:
        if line.strip() and (answer := server.answer(line)) is not None:
            context.terminal.raw(json.dumps(answer) + "\n")
    return 0
