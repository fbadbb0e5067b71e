"""Messages from the records of a Codex thread, without what the program wrote in another's name."""

import json
import re
from typing import Any

from handoff_cli.readers.codex.records import Record, unwrapped
from handoff_cli.readers.json_lines import text_of, tool_call
from handoff_cli.transcripts.messages import Message
from handoff_cli.transcripts.pictures import Picture, pictures_in

# Messages of role `user` that the program adds. Newer versions also say so in a field, see `_is_programs`.
_NOT_FROM_USER = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions",
    "<INSTRUCTIONS>",
    "<skill>",
    "<subagent_notification>",
)
_REPLIES = "<send_user_message_question_reply>"
_SHELL = re.compile(r"<user_shell_command>\s*<command>\s*(.*?)\s*</command>(.*)</user_shell_command>", re.DOTALL)
_ACTION = re.compile(r"<user_action>.*?<action>\s*(.*?)\s*</action>", re.DOTALL)
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


def messages_of(lines: list[Record], pictures: list[Picture] | None = None) -> list[Message]:
    """The messages in order. Consecutive calls become one assistant message, as other tools expect.

    `pictures` gets those of the user's messages, which name them in `files`.
    """
    messages: list[Message] = []
    calls: list[Record] | None = None
    for kind, item in map(unwrapped, lines):
        if kind == "compacted":
            _drop_summary(messages, str(item.get("message") or ""))
        elif kind == "event_msg" and item.get("type") == "thread_rolled_back":
            _roll_back(messages, item.get("num_turns"))
        elif kind != "response_item":
            continue
        elif item.get("type") in _CALLS:
            if calls is None:
                calls = []
                messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            calls.append(_call(item))
        elif message := _message(item):
            shown = pictures_in(item.get("content")) if message["role"] == "user" else []
            if pictures is not None:
                pictures += shown
            messages.append({**message, "files": [one.entry for one in shown]} if shown else message)
            calls = None
    return messages


def _drop_summary(messages: list[Message], summary: str) -> None:
    """The model's summary for a compaction comes as its last answer; what it sums up is still in the file."""
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant" and last["content"] and summary.endswith(last["content"]):
        messages.pop()


def _roll_back(messages: list[Message], turns: Any) -> None:
    """Older versions note a rewind in the file: the last turns of the user do not count any more."""
    starts = [at for at, message in enumerate(messages) if message["role"] == "user"]
    if isinstance(turns, int) and turns > 0 and starts:
        del messages[starts[max(0, len(starts) - turns)] :]


def _message(item: Record) -> Message | None:
    kind, role = item.get("type"), item.get("role")
    if kind in _OUTPUTS:
        return {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": _output(item.get("output"))}
    text = text_of(item.get("content"))
    if kind != "message" or role not in {"user", "assistant"} or not text.strip():
        return None
    if role == "user":
        text = _words(item, text)
    return {"role": role, "content": text} if text else None


def _words(item: Record, text: str) -> str:
    """The text or action of the user; empty if the program wrote this message."""
    start = text.lstrip()
    if start.startswith("<user_shell_command>") and (shell := _SHELL.search(text)):
        output = shell[2].partition("Output:")[2].replace("</result>", "").strip()
        return f"! {shell[1]}\n{output}".strip()
    if start.startswith(_REPLIES):
        return _replies(text)
    if start.startswith("<user_action>") and (action := _ACTION.search(text)):
        return f"/{action[1]}"
    return "" if _is_programs(item, start) else text


def _replies(text: str) -> str:
    """Answers to questions that did not block, which the program puts between the user's messages."""
    try:
        replies = json.loads(text.partition(_REPLIES)[2].partition("</")[0])
        return "\n".join(f"To your question “{one['question']}”: {one['answer']}" for one in replies)
    except (ValueError, TypeError, KeyError):
        return ""


def _is_programs(item: Record, text: str) -> bool:
    about = item.get("internal_chat_message_metadata_passthrough")
    parts = about.get("content_item_metadata") if isinstance(about, dict) else None
    origins = [part.get("provenance") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    kinds = {origin.get("type") for origin in origins if isinstance(origin, dict)}
    return kinds == {"harness"} or ("user" not in kinds and text.startswith(_NOT_FROM_USER))


def _call(item: Record) -> Record:
    arguments = item.get("arguments") or item.get("input") or item.get("action") or {}
    return tool_call(item.get("call_id") or item.get("id"), item.get("name") or "shell", arguments)


def _output(output: Any) -> str:
    if isinstance(output, dict):
        return text_of(output.get("content")) or json.dumps(output, ensure_ascii=False)
    return text_of(output)
