"""Claude Code: `~/.claude/projects/<directory, with dashes>/<session>.jsonl`, one record per line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.json_lines import newest, records, text_of
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import Message, Transcript

# Records of role `user` that the tool wrote itself: slash commands and their output.
_NOT_FROM_USER = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "Caveat: The messages below",
)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


def read(source: Source) -> Transcript:
    """The session in the named file, or the newest one in the directory."""
    path = source.path or _newest(source)
    lines = list(records(path))
    messages = list(_messages(lines))
    if not messages:
        raise UsageProblem(f"{path} is not a conversation of Claude Code.")
    models = [line["message"].get("model") for line in lines if _is_message(line) and line.get("type") == "assistant"]
    return Transcript(
        messages,
        title=_title(lines),
        model=next((model for model in reversed(models) if isinstance(model, str) and model[:1] != "<"), None),
        cwd=next((str(line["cwd"]) for line in reversed(lines) if line.get("cwd")), None),
    )


def _newest(source: Source) -> Path:
    projects = source.home("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    folder = projects / re.sub(r"[^A-Za-z0-9]", "-", str(source.directory))
    for path in newest(folder.glob("*.jsonl")):
        if not path.name.startswith("agent-") and any(map(_is_message, records(path))):
            return path
    raise UsageProblem(
        f"No Claude Code session of {source.directory} was found in {projects}. "
        "Change to the directory where you worked, or name a file with --transcript."
    )


def _is_message(line: dict[str, Any]) -> bool:
    """Is this record part of the main conversation?"""
    return (
        line.get("type") in {"user", "assistant"}
        and isinstance(line.get("message"), dict)
        and not line.get("isSidechain")
        and not line.get("isMeta")
        and not line.get("isApiErrorMessage")
    )


def _title(lines: list[dict[str, Any]]) -> str | None:
    for kind, key in _TITLES.items():
        for line in reversed(lines):
            if line.get("type") == kind and isinstance(line.get(key), str):
                return str(line[key])
    return None


def _messages(lines: list[dict[str, Any]]) -> Iterator[Message]:
    """Several records with one message id are parts of one answer: join them."""
    answer: Message | None = None
    answer_id = None
    for line in filter(_is_message, lines):
        message = line["message"]
        if line["type"] == "assistant":
            if answer is not None and message.get("id") and message["id"] == answer_id:
                _extend(answer, message.get("content"))
                continue
            if _has_content(answer):
                yield answer  # type: ignore[misc]  # _has_content is false for None
            answer, answer_id = {"role": "assistant", "content": None}, message.get("id")
            _extend(answer, message.get("content"))
            continue
        if _has_content(answer):
            yield answer  # type: ignore[misc]  # _has_content is false for None
        answer, answer_id = None, None
        yield from _from_user(message.get("content"))
    if _has_content(answer):
        yield answer  # type: ignore[misc]  # _has_content is false for None


def _has_content(answer: Message | None) -> bool:
    return answer is not None and bool(answer["content"] or answer.get("tool_calls"))


def _extend(answer: Message, content: Any) -> None:
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "text" and part.get("text"):
            answer["content"] = "\n\n".join(filter(None, [answer["content"], str(part["text"])]))
        elif part.get("type") == "tool_use":
            arguments = json.dumps(part.get("input") or {}, ensure_ascii=False)
            call = {"name": str(part.get("name") or "tool"), "arguments": arguments}
            answer.setdefault("tool_calls", []).append(
                {"id": str(part.get("id") or ""), "type": "function", "function": call}
            )


def _from_user(content: Any) -> Iterator[Message]:
    """Tool results first, because they answer the calls before; then the user's text."""
    parts = content if isinstance(content, list) else []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            yield {
                "role": "tool",
                "tool_call_id": str(part.get("tool_use_id") or ""),
                "content": text_of(part.get("content")),
            }
    text = (
        content
        if isinstance(content, str)
        else text_of([part for part in parts if not (isinstance(part, dict) and part.get("type") == "tool_result")])
    )
    if text.strip() and not text.lstrip().startswith(_NOT_FROM_USER):
        yield {"role": "user", "content": text}
