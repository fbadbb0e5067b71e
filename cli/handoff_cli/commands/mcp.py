"""`handoff mcp`: a server of the Model Context Protocol on stdin and stdout."""

import json
from pathlib import Path

from handoff_cli.context import Context
from handoff_cli.inside.mcp.protocol import Server
from handoff_cli.inside.mcp.send_tool import TOOL, SendTool
from handoff_cli.inside.mcp.tools import PROMPTS, Tools, tools


def mcp(context: Context) -> int:
    """Serve until stdin ends."""
    server = _server(context)
    for line in context.terminal.stdin.buffer:
        if line.strip() and (answer := server.answer(line)) is not None:
            context.terminal.raw(json.dumps(answer) + "\n")
    return 0


def _server(context: Context) -> Server:
    """The runner starts one for each session (`--chat`), people for agents without hooks."""
    agent, session_id = context.args.agent, context.args.chat
    if session_id:
        return Server([TOOL], {}, SendTool(session_id, Path(context.args.channel)).call)
    return Server(tools(reads=agent is not None), PROMPTS, Tools(context, agent).call)
