"""Commands that agents call, and those that install them there."""

import argparse
from typing import Any

from handoff_cli.arguments.parts import add_command
from handoff_cli.inside import HOOKED, MCP
from handoff_cli.readers import READERS


def inside(commands: Any) -> None:
    # No help text: agents call it, not people.
    hook = commands.add_parser("hook", description="Called by the hooks of agents; reads an event from stdin.")
    hook.set_defaults(run="hook:hook")
    hook.add_argument("agent", metavar="AGENT", choices=HOOKED)
    hook.add_argument("--move", action="store_true", help=argparse.SUPPRESS)
    hook.add_argument("--notify", metavar="PLATFORM", nargs="?", const="", help=argparse.SUPPRESS)
    hook.add_argument("--post", action="store_true", help=argparse.SUPPRESS)
    server = "Run an MCP server on stdin and stdout, for agents without hooks."
    mcp = add_command(commands, "mcp", server, "mcp:mcp", json_output=False)
    mcp.add_argument("--agent", choices=READERS, help="the agent that starts it, if Handoff can read its sessions")
    text = "Make an agent understand /handoff: shows what it changes, and asks."
    install = add_command(commands, "install", text, "install:install", json_output=False)
    install.add_argument("agent", metavar="AGENT", nargs="?", choices=(*HOOKED, MCP), help=", ".join((*HOOKED, MCP)))
    notices = install.add_mutually_exclusive_group()
    notices.add_argument(
        "--notify",
        metavar="PLATFORM",
        nargs="?",
        const="",
        help="also post in your home chat (there, or where you have one) when the agent needs you or is done",
    )
    notices.add_argument("--no-notify", action="store_true", help="no more of that")
    install.add_argument("--list", action="store_true", help="show which agents are here, and what is installed")
    install.add_argument("--yes", action="store_true", help="do not ask")
    uninstall = add_command(commands, "uninstall", "Undo `install`.", "install:uninstall", json_output=False)
    uninstall.add_argument("agent", metavar="AGENT", choices=HOOKED, help=", ".join(HOOKED))
    uninstall.add_argument("--yes", action="store_true", help="do not ask")
