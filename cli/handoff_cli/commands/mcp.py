"""`handoff mcp`: a server of the Model Context Protocol on stdin and stdout."""

from handoff_cli.context import Context
from handoff_cli.inside.mcp.protocol import Server
from handoff_cli.inside.mcp.tools import PROMPTS, Tools, tools


def mcp(context: Context) -> int:
    """Serve until stdin ends."""
    agent = context.args.agent
    server = Server(tools(reads=agent is not None), PROMPTS, Tools(context, agent).call)
    server.serve(context.terminal.stdin.buffer, context.terminal.stdout)
    return 0
