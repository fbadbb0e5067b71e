"""The tool `send_to_chat` as agents name it."""

SERVER = "handoff"
NAME = f"mcp__{SERVER}__send_to_chat"
OPENCODE_NAME = f"{SERVER}_send_to_chat"
IN_WORDS = f"[Handoff: to send a file of this directory to my chat, call the tool `{NAME}` with its path.]"
