"""What the model is given: the whole transcript, mended, and fitted to its window with the newest kept whole."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shared.agents.transcript.conversation import Conversation, Entry
from shared.agents.transcript.repair import repair
from shared.domain.messages import Message

# A token is about four bytes of English, three of code, and three of a CJK character: three errs on the safe side.
BYTES_PER_TOKEN = 3
ENTRY_TOKENS = 8
CALL_TOKENS = 16
NOTES_TOKENS = 128  # what `prepare` itself may add
LARGEST_ANSWER = 8_192
OPENING = "(The conversation begins here.)"
GO_ON = "(Go on.)"


def prepare(
    messages: Sequence[Message], *, note: str | None, window: int = 0, calls_as_text: bool = False
) -> Conversation:
    """Mend and fit a transcript. Pure and deterministic; `window` is in tokens, 0 leaves nothing out.

    The last entry always stays, even where it alone is over the window: the model then says so itself.
    `calls_as_text` writes tool calls out as words, for models that take none.
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
    """About how many tokens a text has, rather too many than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def entry_tokens(entry: Entry) -> int:
    """About how many tokens an entry takes, with its calls and results."""
    calls = sum(CALL_TOKENS + tokens_in(f"{call.name}{call.arguments_json}{call.result}") for call in entry.calls)
    return ENTRY_TOKENS + tokens_in(entry.text) + calls


def _newest(entries: Sequence[Entry], budget: int | None, *, spent: int) -> Sequence[Entry]:
    """The longest run of newest entries within the budget, and always the last one."""
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
    """A system text takes at most half of the room: words that a person waits for an answer to matter more."""
    if budget is None or tokens_in(system) <= budget // 2:
        return system
    return system.encode("utf-8", "replace")[: budget // 2 * BYTES_PER_TOKEN].decode("utf-8", "ignore")


_SHORTENED = "(The system text above was shortened to fit.)"


def _left_out(count: int, kept: int) -> str:
    """Tell the model what it cannot see, so that it does not take the beginning for the whole."""
    if not count:
        return ""
    were = "message was" if count == 1 else "messages were"
    return f"(The {count} oldest {were} left out to fit; the newest {kept} follow. Say so if what you need is missing.)"


def _alternate(entries: Iterable[Entry]) -> list[Entry]:
    """User and assistant in turn, the user first and last: some models refuse anything else."""
    merged: list[Entry] = []
    for entry in entries:
        if merged and merged[-1].role == entry.role and not merged[-1].calls:
            before = merged.pop()
            text = "\n\n".join(filter(str.strip, (before.text, entry.text)))
            merged.append(replace(entry, text=text, messages=before.messages + entry.messages))
        else:
            merged.append(entry)
    if not merged or merged[0].role == "assistant":
        merged.insert(0, Entry("user", OPENING, messages=0))
    if merged[-1].role == "assistant" and not merged[-1].calls:
        merged.append(Entry("user", GO_ON, messages=0))
    return merged


def _in_words(entry: Entry) -> list[Entry]:
    """An entry with its calls and results written out; the results speak from the user's side."""
    if not entry.calls:
        return [entry]
    made = "\n".join(f"[Called {call.name} with {call.arguments_json}]" for call in entry.calls)
    came = "\n\n".join(f"[Result of {call.name}]\n{call.result}" for call in entry.calls)
    text = "\n\n".join(filter(str.strip, (entry.text, made)))
    return [Entry(entry.role, text, messages=1), Entry("user", came, messages=entry.messages - 1)]
