"""Messages from the records of a Claude Code session, without what the program wrote in the user's name."""

import re
from typing import Any

from handoff_cli.readers.json_lines import text_of, tool_call
from handoff_cli.transcripts.messages import Message
from handoff_cli.transcripts.pictures import Picture, pictures_in

Record = dict[str, Any]

# Records of role `user` that the program wrote itself: commands that it ran without the model, and their output.
_NOT_FROM_USER = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "Caveat: The messages below",
    "<task-notification>",
)
# Older versions mark an interruption by its text alone.
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")


def is_message(line: Record) -> bool:
    """Is this record part of the main conversation?"""
    return (
        line.get("type") in {"user", "assistant"}
        and isinstance(line.get("message"), dict)
        and not line.get("isSidechain")
        and not line.get("isMeta")
        and not line.get("isApiErrorMessage")
    )


def is_prompt(line: Record) -> bool:
    """Are these words of the user to the model?"""
    if queued := _queued(line):
        return bool(text_of(queued).strip())
    return is_message(line) and line["type"] == "user" and _is_from_user(line, _words(line["message"]))


def messages_of(lines: list[Record], pictures: list[Picture] | None = None) -> list[Message]:
    """The messages in order. Records with one message id are parts of one answer: they are joined.

    `pictures` gets those of the user's messages, which name them in `files`.
    """
    return _Conversation([] if pictures is None else pictures).add(lines)


class _Conversation:
    def __init__(self, pictures: list[Picture]) -> None:
        self._pictures = pictures
        self._messages: list[Message] = []
        self._answers: dict[str, Message] = {}
        self._command: str | None = None

    def add(self, lines: list[Record]) -> list[Message]:
        for line in lines:
            if queued := _queued(line):
                self._say(text_of(queued), queued)
            elif is_message(line):
                (self._answer if line["type"] == "assistant" else self._user)(line)
        return [m for m in self._messages if m["role"] != "assistant" or m["content"] or m.get("tool_calls")]

    def _answer(self, line: Record) -> None:
        if self._command:
            # The model answered: so the slash command was a prompt, not a command of the program.
            self._say(self._command)
        message = line["message"]
        answer = self._answers.get(str(message.get("id") or ""))
        if answer is None:
            answer = {"role": "assistant", "content": None}
            self._messages.append(answer)
            if message.get("id"):
                self._answers[str(message["id"])] = answer
        _extend(answer, message.get("content"))

    def _user(self, line: Record) -> None:
        """Tool results first, because they answer the calls before; then the user's text."""
        content = line["message"].get("content")
        for part in content if isinstance(content, list) else []:
            if _is_result(part):
                result = {"tool_call_id": str(part.get("tool_use_id") or ""), "content": text_of(part.get("content"))}
                self._messages.append({"role": "tool", **result})
        text = _words(line["message"])
        if line.get("isCompactSummary"):
            # The summary repeats what is still there, unless the file begins with it.
            if not self._messages:
                self._messages.append({"role": "system", "content": text})
        elif _is_from_user(line, text):
            self._say(text, content)
        elif text.strip():
            self._ran(text)

    def _say(self, text: str, content: Any = None) -> None:
        self._command = None
        if text.strip():
            shown = pictures_in(content)
            self._pictures += shown
            files = {"files": [one.entry for one in shown]} if shown else {}
            self._messages.append({"role": "user", "content": text, **files})

    def _ran(self, text: str) -> None:
        """A slash command, or a shell command of the user and its output."""
        name, arguments = _inside(text, "command-name"), _inside(text, "command-args")
        self._command = f"{name} {arguments}".strip() if name else None
        if shell := _inside(text, "bash-input"):
            self._say(f"! {shell}")
        elif "<bash-stdout>" in text and self._messages and str(self._messages[-1]["content"]).startswith("! "):
            output = "\n".join(filter(None, (_inside(text, "bash-stdout"), _inside(text, "bash-stderr"))))
            self._messages[-1]["content"] += f"\n{output}"


def _queued(line: Record) -> Any:
    """The text that the user typed while the agent was working; None if this record is something else."""
    attached = line.get("attachment")
    if not isinstance(attached, dict) or attached.get("type") != "queued_command" or line.get("isSidechain"):
        return None
    typed = attached.get("commandMode", "prompt") == "prompt" and not attached.get("isMeta") and _is_human(attached)
    return attached.get("prompt") if typed else None


def _is_human(record: Record) -> bool:
    """Records of programs name another origin; most versions name none for the user's."""
    origin = record.get("origin")
    return not isinstance(origin, dict) or origin.get("kind", "human") == "human"


def _is_from_user(line: Record, text: str) -> bool:
    if not text.strip() or line.get("isCompactSummary") or line.get("interruptedMessageId") or not _is_human(line):
        return False
    return text.strip() not in _INTERRUPTED and not text.lstrip().startswith(_NOT_FROM_USER)


def _is_result(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_result"


def _words(message: Record) -> str:
    content = message.get("content")
    return text_of([part for part in content if not _is_result(part)] if isinstance(content, list) else content)


def _inside(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[1].strip() if found else ""


def _extend(answer: Message, content: Any) -> None:
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "text" and part.get("text"):
            answer["content"] = "\n\n".join(filter(None, [answer["content"], str(part["text"])]))
        elif part.get("type") == "tool_use":
            call = tool_call(part.get("id"), part.get("name"), part.get("input") or {})
            answer.setdefault("tool_calls", []).append(call)
