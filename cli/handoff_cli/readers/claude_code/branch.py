"""The live branch of a Claude Code session: rewinding and stale terminals leave others in the same file."""

from collections.abc import Iterator
from typing import Any

from handoff_cli.readers.claude_code.messages import is_message, is_prompt

Record = dict[str, Any]


def live_branch(lines: list[Record]) -> list[Record]:
    """The records of the branch that the conversation is on, in the order of the file.

    A file without links (or of which only damaged ones are left) is returned whole.
    """
    tree = _Tree(lines)
    leaf = tree.leaf()
    if leaf is None:
        return lines
    kept = {line["uuid"] for line in tree.path(leaf)}
    # Calls made side by side fork the chain: their sister records and their results belong to it, too.
    answers = {_message_id(line) for line in lines if line.get("uuid") in kept and line.get("type") == "assistant"}
    kept |= {line.get("uuid") for line in lines if line.get("type") == "assistant" and _message_id(line) in answers}
    kept |= {line.get("uuid") for line in lines if line.get("sourceToolAssistantUUID") in kept - {None}}
    return [line for line in lines if line.get("uuid") in kept - {None}]


def _message_id(line: Record) -> Any:
    """The id that all parts of one answer share; the record's own one if it has none."""
    message = line.get("message")
    return (isinstance(message, dict) and message.get("id")) or line.get("uuid")


class _Tree:
    def __init__(self, lines: list[Record]) -> None:
        self._lines = [line for line in lines if isinstance(line.get("uuid"), str) and not line.get("isSidechain")]
        self._position = {line["uuid"]: at for at, line in enumerate(self._lines)}
        self._hint, self._after_hint = self._last_prompt(lines)

    def _last_prompt(self, lines: list[Record]) -> tuple[Record | None, set[str]]:
        """The leaf that the newest `last-prompt` record names, if it is known, and the records after that one."""
        later: set[str] = set()
        for line in reversed(lines):
            if line.get("type") == "last-prompt":
                at = self._position.get(str(line.get("leafUuid")))
                return (None if at is None else self._lines[at]), later
            later.add(str(line.get("uuid")))
        return None, later

    def leaf(self) -> Record | None:
        """The last spoken record. One that a stale terminal added without a new prompt does not count."""
        spoken = next((line for line in reversed(self._lines) if is_message(line) or is_prompt(line)), None)
        if spoken is None or self._hint is None:
            return spoken
        path = list(self.path(spoken))
        known = {line["uuid"] for line in self.path(self._hint)}
        if spoken["uuid"] in known or self._hint["uuid"] in {line["uuid"] for line in path}:
            return spoken
        aside = [line for line in path if line["uuid"] not in known]
        if any(is_prompt(line) and line["uuid"] in self._after_hint for line in aside):
            return spoken
        return self._last_below(self._hint)

    def _last_below(self, start: Record) -> Record:
        """The last record that follows from this one: the hint may be older than the end of its branch."""
        below, last = {start["uuid"]}, start
        for line in self._lines:
            if line.get("parentUuid") in below:
                below.add(line["uuid"])
                last = line
        return last

    def path(self, leaf: Record) -> Iterator[Record]:
        """From the leaf to the first record; over a compaction by its logical parent."""
        seen: set[str] = set()
        at: Record | None = leaf
        while at is not None and at["uuid"] not in seen:
            seen.add(at["uuid"])
            yield at
            at = self._parent(at)

    def _parent(self, line: Record) -> Record | None:
        named = line.get("parentUuid") or line.get("logicalParentUuid")
        at = self._position.get(str(named))
        if at is not None:
            return self._lines[at]
        # A damaged line must not cost the beginning: continue with the record before.
        before = self._position[line["uuid"]] - 1
        return self._lines[before] if before >= 0 and (named or line.get("subtype") == "compact_boundary") else None
