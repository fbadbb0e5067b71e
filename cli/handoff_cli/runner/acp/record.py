"""Record of one turn of an agent, its texts and steps: as messages for the transcript, and in short as progress."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from acp import schema

from handoff_cli.runner.excerpt import Excerpt, arguments_of, cut, masked
from handoff_cli.runner.questions.request import LONGEST, Request, size_of
from handoff_cli.transcripts.messages import Message

REPLY_LIMIT = 224 * 1024
_ROOM = 600 * 1024
_PROGRESS_TEXT = 2000
_PROGRESS_TOOL = 200
_ENDED = ("completed", "failed")
_CHANGES_FILES = ("edit", "delete", "move")
_MOST_DOLLARS = 1_000_000
_LEFT_OUT = "[{} earlier steps are left out here]"


class Said:
    """Consecutive words of the agent."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.size = 0

    def add(self, piece: str) -> int:
        """The number of characters that were added: what is over the limit of a reply is dropped."""
        added = piece[: max(0, REPLY_LIMIT - self.size)]
        if added:
            self._pieces.append(added)
            self.size += len(added)
        return len(added)

    @property
    def text(self) -> str:
        """All words. Pieces may end within a character that JavaScript writes in two halves: these are joined."""
        joined = "".join(self._pieces)
        return joined if joined.isascii() else joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Step:
    """One tool call."""

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.kind = "other"
        self.title = ""
        self.status = "pending"
        self.input: Any = None
        self.request = Request()
        self.arguments = ""
        self.output: Excerpt | str = Excerpt()

    def seal(self) -> None:
        """It has ended: keep only what is sent."""
        self.arguments = arguments_of(self.input, self.title)
        self.output = str(self.output)
        self.input, self.request = None, Request()

    @property
    def size(self) -> int:
        return len(self.arguments) + len(str(self.output)) + 200 if isinstance(self.output, str) else 200


class Record:
    """Collects the updates of one turn. Its memory is bounded: the oldest steps give way, and are counted."""

    def __init__(self) -> None:
        self._entries: list[Said | Step] = []
        self._open: dict[str, Step] = {}
        self._size = 0
        self._left_out = 0
        self._files: set[str] = set()
        self._current = ""
        self._spent: dict[str, float] = {}
        self.steps = 0
        self.version = 0
        """Grows with each change that progress shows."""

    @property
    def files(self) -> int:
        """The number of files that were changed."""
        return len(self._files)

    @property
    def is_amid_step(self) -> bool:
        """Does a tool run now? What it does may be done even if the agent is stopped."""
        return any(step.status == "in_progress" for step in self._open.values())

    @property
    def reply(self) -> str:
        """The agent's last text, after its last step; empty if there is none."""
        last = self._entries[-1] if self._entries else None
        return last.text.strip() if isinstance(last, Said) else ""

    @property
    def usage(self) -> dict[str, float] | None:
        """What the agent has told of its tokens, its context window and the cost of its whole session; None if nothing."""
        return dict(self._spent) or None

    def _spend(self, told: "schema.Usage | schema.UsageUpdate") -> None:
        """Tokens are those of one prompt, of which a turn may have several; the rest is as it is now."""
        if isinstance(told, schema.Usage):
            self._spent["tokens"] = self._spent.get("tokens", 0) + max(0, told.total_tokens)
            return
        self._spent |= {"context": max(0, told.used), "window": max(0, told.size)}
        if told.cost is not None and told.cost.currency == "USD" and 0 <= told.cost.amount < _MOST_DOLLARS:
            self._spent["cost"] = told.cost.amount

    def add(self, update: object) -> None:
        """Note one update of the session; kinds that are of no interest are ignored."""
        if isinstance(update, schema.Usage | schema.UsageUpdate):
            self._spend(update)
            return
        if isinstance(update, schema.AgentMessageChunk):
            self._say(update.content)
        elif isinstance(update, schema.ToolCallStart | schema.ToolCallProgress):
            self._step(update)
        else:
            return
        self.version += 1

    def request(self, call: schema.ToolCallUpdate) -> Request:
        """A permission request, with what was said of its step before."""
        step = self._open.get(call.tool_call_id)
        return (step.request if step else Request()).updated(call)

    def new_prompt(self) -> None:
        """The next text answers another prompt: it begins a new message."""
        if self._entries and isinstance(self._entries[-1], Said) and self._entries[-1].text:
            self._entries.append(Said())

    def progress(self) -> dict[str, Any]:
        """The last words, what runs now, and how much was done."""
        words = next((entry.text for entry in reversed(self._entries) if isinstance(entry, Said) and entry.text), "")
        shown = cut(masked(words[-2 * _PROGRESS_TEXT :])[-_PROGRESS_TEXT // 2 :], _PROGRESS_TEXT)
        running = {"tool": cut(masked(self._current), _PROGRESS_TOOL)} if self._current else {}
        return {"text": shown, **running, "steps": self.steps, "files": self.files}

    def messages(self, reply: str) -> list[Message]:
        """Everything in order, roles `assistant` and `tool`; the last message is the reply."""
        for step in list(self._open.values()):
            step.seal()
        found = list(self._messages())
        if self._left_out:
            found.insert(0, {"role": "assistant", "content": _LEFT_OUT.format(self._left_out)})
        if found and found[-1]["role"] == "assistant" and not found[-1].get("tool_calls"):
            found.pop()
        return [*found, {"role": "assistant", "content": reply}]

    def _say(self, content: object) -> None:
        text = content.text if isinstance(content, schema.TextContentBlock) else ""
        if not self._entries or not isinstance(self._entries[-1], Said):
            if not text.strip():
                return
            self._entries.append(Said())
        last = self._entries[-1]
        if isinstance(last, Said):
            self._size += last.add(text)
        self._make_room()

    def _step(self, update: "schema.ToolCallStart | schema.ToolCallProgress") -> None:
        step = self._open.get(update.tool_call_id)
        if step is None:
            if isinstance(update, schema.ToolCallProgress) and update.status in _ENDED and not update.title:
                # The late end of a step that has been left out, or of one that the agent never announced.
                return
            step = self._open[update.tool_call_id] = Step(update.tool_call_id)
            self._entries.append(step)
            self.steps += 1
        step.kind, step.title = update.kind or step.kind, (update.title or step.title)[:1000]
        step.status = update.status or step.status
        step.input = _bounded(update.raw_input) if update.raw_input is not None else step.input
        step.request = step.request.updated(update)
        if isinstance(step.output, Excerpt):
            _note_output(step.output, update)
        if step.kind in _CHANGES_FILES and len(self._files) < 10_000:
            self._files |= {location.path for location in update.locations or []}
        self._current = "" if step.status in _ENDED else step.title
        if step.status in _ENDED:
            del self._open[step.id]
            step.seal()
            self._size += step.size
            self._make_room()

    def _make_room(self) -> None:
        """Remove the oldest entries, but never the words that are being said."""
        while self._size > _ROOM and len(self._entries) > 1:
            oldest = self._entries.pop(0)
            self._open.pop(oldest.id, None) if isinstance(oldest, Step) else None
            self._size -= oldest.size
            self._left_out += 1

    def _messages(self) -> Iterator[Message]:
        text, calls = "", list[Step]()
        for entry in [*self._entries, Said()]:
            if isinstance(entry, Step):
                calls.append(entry)
                continue
            if calls:
                yield {"role": "assistant", "content": text or None, "tool_calls": [_call(step) for step in calls]}
                yield from ({"role": "tool", "tool_call_id": step.id, "content": str(step.output)} for step in calls)
            elif text.strip():
                yield {"role": "assistant", "content": text}
            text, calls = entry.text, []


def _call(step: Step) -> Message:
    return {"id": step.id, "type": "function", "function": {"name": step.kind, "arguments": step.arguments}}


def _bounded(raw: Any) -> Any:
    """The input of a tool, unless it is too large to keep: then only that it was."""
    if size_of(raw) <= LONGEST:
        return raw
    with suppress(RecursionError):
        return {"text": json.dumps(raw, default=str)[:4096]}
    return {"text": "[too deep to keep]"}


def _note_output(output: Excerpt, update: "schema.ToolCallStart | schema.ToolCallProgress") -> None:
    """Content replaces; Codex sends what a command prints in pieces beside it; others send only the raw output."""
    texts = [text for block in update.content or [] if (text := _text_of(block))]
    if texts:
        output.replace("\n".join(texts))
    elif isinstance(delta := (update.field_meta or {}).get("terminal_output_delta"), dict):
        output.add(str(delta.get("data") or delta.get("delta") or ""))
    elif not output and update.raw_output is not None:
        raw = update.raw_output
        output.replace(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str))


def _text_of(block: object) -> str:
    if isinstance(block, schema.FileEditToolCallContent):
        return f"[changed {block.path}]"
    content = getattr(block, "content", None)
    return content.text if isinstance(content, schema.TextContentBlock) else ""
