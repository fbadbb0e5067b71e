"""Fit a repaired transcript to a model's window: the newest messages are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shared.agents.transcript.conversation import Conversation, Entry
from shared.agents.transcript.repair import repair
from shared.domain.messages import Message

# A token is about four bytes of English text, three of code or of a CJK character: three overestimates.
BYTES_PER_TOKEN = 3
ENTRY_TOKENS = 8
CALL_TOKENS = 16
NOTES_TOKENS = 128  # for the notes that `prepare` adds
LARGEST_ANSWER = 8_192
OPENING = "(The conversation begins here.)"
GO_ON = "(Go on.)"


def prepare(
    messages: Sequence[Message], *, note: str | None, window: int = 0, calls_as_text: bool = False
) -> Conversation:
    """Repair and fit a transcript. Pure and deterministic; `window` is in tokens, 0 leaves nothing out.

    The last entry is always kept; if it alone exceeds the window, the model rejects the request.
    `calls_as_text` writes tool calls as text, for models without tools.
    """
    system, entries = repair(messages)
    budget = window - min(window // 4, LARGEST_ANSWER) if window > 0 else None
    shortened = _shorten(system, budget)
    kept = _newest(entries, budget, spent=tokens_in(f"{shortened}{note or ''}") + NOTES_TOKENS)
    left_out = sum(entry.messages for entry in entries) - sum(entry.messages for entry in kept)
    notes = [_left_out(left_out, sum(entry.messages for entry in kept)), "" if shortened == system else _SHORTENED]
    whole = "\n\n".join(filter(str.strip, [*notes, note or ""]))
    spoken = [said for entry in kept for said in _in_words(entry)] if calls_as_text else kept
    alternating = tuple(_alternate(spoken))
    tokens = tokens_in(shortened) + tokens_in(whole) + sum(map(entry_tokens, alternating))
    return Conversation(shortened, whole, alternating, left_out, tokens)


def tokens_in(text: str) -> int:
    """An upper estimate of the tokens in a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def entry_tokens(entry: Entry) -> int:
    """An upper estimate of the tokens in an entry, with its calls and results."""
    calls = sum(CALL_TOKENS + tokens_in(f"{call.name}{call.arguments_json}{call.result}") for call in entry.calls)
    return ENTRY_TOKENS + tokens_in(entry.text) + calls


def _newest(entries: Sequence[Entry], budget: int | None, *, spent: int) -> Sequence[Entry]:
    """As many of the newest entries as fit the budget, and always the last one."""
    if budget is None:
        return entries
    first = len(entries)
    for entry in reversed(entries):
        spent += entry_tokens(entry)
        if spent > budget and first < len(entries):
            break
        first -= 1
    return entries[first:]


def _shorten(system: str, budget: int | None) -> str:
    """Limit the system text to half of the budget: the messages to answer matter more."""
    if budget is None or tokens_in(system) <= budget // 2:
        return system
    return system.encode("utf-8", "replace")[: budget // 2 * BYTES_PER_TOKEN].decode("utf-8", "ignore")


_SHORTENED = "(The system text above was shortened to fit.)"


def _left_out(count: int, kept: int) -> str:
    """Tell the model how much it cannot see."""
    if not count:
        return ""
    were = "message was" if count == 1 else "messages were"
    return f"(The {count} oldest {were} left out to fit; the newest {kept} follow. Say so if what you need is missing.)"


def _alternate(entries: Iterable[Entry]) -> list[Entry]:
    """Alternate user and assistant, with the user first and last: some models reject anything else."""
    merged: list[Entry] = []
    for entry in entries:
        if merged and merged[-1].role == entry.role and not merged[-1].calls:
            before = merged.pop()
            text = "\n\n".join(filter(str.strip, (before.text, entry.text)))
            files = (*before.files, *entry.files)
            merged.append(replace(entry, text=text, messages=before.messages + entry.messages, files=files))
        else:
            merged.append(entry)
    if not merged or merged[0].role == "assistant":
        merged.insert(0, Entry("user", OPENING, messages=0))
    if merged[-1].role == "assistant" and not merged[-1].calls:
        merged.append(Entry("user", GO_ON, messages=0))
    return merged


def _in_words(entry: Entry) -> list[Entry]:
    """An entry with its calls as text; the results become a user entry."""
    if not entry.calls:
        return [entry]
    made = "\n".join(f"[Called {call.name} with {call.arguments_json}]" for call in entry.calls)
    came = "\n\n".join(f"[Result of {call.name}]\n{call.result}" for call in entry.calls)
    text = "\n\n".join(filter(str.strip, (entry.text, made)))
    return [Entry(entry.role, text, messages=1), Entry("user", came, messages=entry.messages - 1)]
