"""The tool `send_to_chat`: an MCP server for each session, which only passes the request on to the runner."""

from pathlib import Path
from typing import Any

from acp import schema

from handoff_cli.own_program import own_program
from handoff_cli.runner.outgoing.names import NAME, OPENCODE_NAME, SERVER

_PROGRAM = "handoff_cli.inside.mcp.send_tool"
"""Agents wait for it before their first answer, so it is not the whole client."""


def server_for(session_id: str, state: Path) -> schema.McpServerStdio:
    """The server of one session. The agent's own environment may not reach it, so it is told where the runner listens."""
    [command, *arguments], needed = own_program(session_id, str(state), module=_PROGRAM)
    environ = [schema.EnvVariable(name=name, value=value) for name, value in needed.items()]
    return schema.McpServerStdio(name=SERVER, command=command, args=arguments, env=environ)


def is_own(title: str, arguments: Any) -> bool:
    """Whether a request for permission is about this tool."""
    named = arguments.get("tool") if isinstance(arguments, dict) else None
    return title in {NAME, OPENCODE_NAME, f"mcp.{SERVER}.send_to_chat"} or named == "send_to_chat"
