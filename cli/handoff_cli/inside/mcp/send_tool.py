"""The MCP server with the tool `send_to_chat`. The runner has it started with each agent that answers in a thread."""

import os
import sys
from pathlib import Path
from typing import Any

from handoff_cli.inside.mcp.protocol import BadParams, Server
from handoff_cli.runner.machine.send_file import send_file

Json = dict[str, Any]

NAME = "send_to_chat"
TOOL: Json = {
    "name": NAME,
    "description": "Send a file of this directory to the person's chat, for example a plot, a PDF or a screenshot: "
    "pictures are shown, the rest comes as a document. Says whether it arrived. Use it if the person asks for a file or "
    "needs to see one; texts belong into your answer.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file, inside the working directory"},
            "caption": {"type": "string", "description": "a few words to go with it"},
        },
        "required": ["path"],
    },
    # With these no permission is asked: the runner checks each file.
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    # Otherwise the model would have to search for the tool first.
    "_meta": {"anthropic/alwaysLoad": True},
}


class SendTool:
    """Passes calls on to the runner. One process serves one session."""

    def __init__(self, session_id: str, channel: Path) -> None:
        self._session, self._channel = session_id, channel

    def call(self, name: str, arguments: Json) -> str:
        """Run the tool. Raises CliError and BadParams."""
        path, caption = arguments.get("path"), arguments.get("caption") or ""
        if name != NAME:
            raise BadParams(f"there is no tool {name}")
        if not isinstance(path, str) or not path or not isinstance(caption, str):
            raise BadParams("path is missing, or caption is not a text")
        absolute = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - as given, without following links
        return send_file(self._channel, absolute, caption, session=self._session)


def main() -> None:
    """Serve until stdin ends."""
    session_id, channel = sys.argv[1:]
    Server([TOOL], {}, SendTool(session_id, Path(channel)).call).serve(sys.stdin.buffer, sys.stdout)


if __name__ == "__main__":
    main()
