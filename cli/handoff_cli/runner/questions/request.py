"""A permission request, with what the agent has said about the same step before."""

import json
from dataclasses import dataclass, replace
from typing import Any

from acp import schema

LONGEST = 64 * 1024
"""Characters of arguments and content that are kept. A longer request can only be refused."""

ToolCall = schema.ToolCallStart | schema.ToolCallProgress | schema.ToolCallUpdate


@dataclass(frozen=True)
class Request:
    """What an agent wants to do. `is_cut`: it is longer than what is kept."""

    title: str = ""
    kind: str = "other"
    input: Any = None
    content: tuple[object, ...] = ()
    locations: tuple[schema.ToolCallLocation, ...] = ()
    is_cut: bool = False

    def updated(self, call: ToolCall) -> "Request":
        """With what another update of the same step says. Arguments that it does not name stay."""
        given = call.raw_input
        if isinstance(given, dict) and isinstance(self.input, dict):
            given = {**self.input, **given}
        content = tuple(call.content or ()) or self.content
        new = replace(
            self,
            title=call.title or self.title,
            kind=call.kind or self.kind,
            input=given or self.input,
            content=content,
            locations=tuple(call.locations or ()) or self.locations,
        )
        if size_of(new.input) + sum(size_of(block) for block in content) <= LONGEST:
            return new
        return replace(new, input=None, content=(), is_cut=True)


def size_of(value: object) -> int:
    if isinstance(value, schema.FileEditToolCallContent):
        return len(value.path) + len(value.old_text or "") + len(value.new_text)
    if isinstance(value, schema.ContentToolCallContent):
        return len(value.model_dump_json())
    try:
        return len(value) if isinstance(value, str) else len(json.dumps(value, default=str, ensure_ascii=False))
    except RecursionError:  # too deep for all that reads it
        return LONGEST + 1
