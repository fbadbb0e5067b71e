"""Numbered lists in a chat: shown with buttons, and chosen from by number or by a press."""

from collections.abc import Callable, Sequence

from shared.domain.buttons import button_id, number_in
from shared.domain.lists import PAGE, Entry, EntryKind, Listed
from shared.domain.question_text import as_code
from shared.ports.inbound import Pressed
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import id_for
from shared.use_cases.dials import answer_parts

LIST_BUTTON = "l"
NEXT_PAGE = "p"
OUTDATED = "That list is not the newest one here, or is too old. Send `{}` for a new one."
TOLD = "…"
"""Never posted: the text is in the outbox by then, and the journal keeps the first one."""
ID_LENGTH = 16


def list_for(services: Services, row: InboxRow, entries: Sequence[Entry]) -> Listed:
    """The list that a command shows, kept as the newest one at its place. Safe to repeat."""
    listed = Listed(
        id_for(row.user_id, f"list\n{row.place.route}\n{row.event_id}")[:ID_LENGTH],
        row.user_id,
        row.place,
        row.received_at,
        tuple(entries),
    )
    services.store.lists.put(listed)
    return listed


def newest_list(services: Services, row: InboxRow) -> Listed | None:
    """The list that the sender was shown last at this place, as long as its entries may be chosen."""
    listed = services.store.lists.at(row.user_id, row.place)
    return listed if listed is not None and listed.may_be_chosen(services.clock.now()) else None


def show_list(
    services: Services,
    row: InboxRow,
    listed: Listed,
    *,
    head: str,
    line: Callable[[Entry], str],
    notes: Sequence[str] = (),
    page: int = 1,
) -> str:
    """Answer a command with one page of a list; returns what answers the row. Safe to repeat: the first answer counts."""
    first = (page - 1) * PAGE
    shown = list(enumerate(listed.entries, start=1))[first : first + PAGE]
    more = len(listed.entries) > first + PAGE
    lines = [f"{number}. {line(entry)}" for number, entry in shown]
    text = "\n\n".join(filter(None, (head, "\n".join(lines), "\n".join(notes))))
    buttons = [
        (button_id(LIST_BUTTON, listed.id, number), f"{number} · {entry.title}".strip()) for number, entry in shown
    ]
    if more:
        buttons.append((button_id(LIST_BUTTON, listed.id, NEXT_PAGE, page + 1), "More"))
    services.store.outbox.post(
        answer_parts(services, row.place, f"told-{row.event_id}", text, buttons), now=services.clock.now()
    )
    return TOLD


def press_list(services: Services, user_id: str, fields: Sequence[str], pressed: Pressed) -> str:
    """Choose an entry of the user's newest list: the same as its command, typed now. A redelivery is the same command."""
    listed = services.store.lists.at(user_id, pressed.place)
    number = number_in(fields[-1]) if len(fields) in (2, 3) else None
    is_here = listed is not None and listed.id == fields[0] and listed.may_be_chosen(services.clock.now())
    if listed is None or not is_here or number is None:
        return OUTDATED.format("/sessions").replace("`", "")
    if len(fields) == 3:
        _type(services, user_id, pressed, f"/sessions page {number}")
        return f"Page {number}."
    entry = listed.entry(number)
    if entry is None:
        return OUTDATED.format("/sessions").replace("`", "")
    _type(services, user_id, pressed, _command(listed, number, entry))
    return f"{entry.title}: one moment."


def chosen(services: Services, row: InboxRow, said: str) -> Entry | None:
    """The entry that a number names, or a press (`list.number`), of the newest list here."""
    listed = newest_list(services, row)
    named, _, number = said.rpartition(".")
    if listed is None or named not in ("", listed.id) or not number.isascii() or not number.isdigit():
        return None
    return listed.entry(int(number[:6]))


def key_of(services: Services, row: InboxRow, said: str) -> str:
    """The same for each choice of one entry of the newest list, however often it is made."""
    listed = newest_list(services, row)
    return f"{listed.id} {said.rpartition('.')[2]}" if listed else ""


def _command(listed: Listed, number: int, entry: Entry) -> str:
    match entry.kind:
        case EntryKind.MODEL:
            return "/new model"
        case EntryKind.PROJECT:
            return f"/new @{listed.id}.{number}"
    return f"/bring {listed.id}.{number}"


def _type(services: Services, user_id: str, pressed: Pressed, text: str) -> None:
    """A command of the person who pressed. It sorts before all messages, so that these are found without looking at it."""
    now = services.clock.now()
    row = InboxRow(pressed.place, f"!{pressed.event_id}", pressed.sender, text, now, user_id)
    services.store.inbox.put(row)
    # `/new model` moves what lives here: it waits its turn among the messages.
    line = None if text == "/new model" else f"pressed {row.place.route} {row.event_id}"
    services.queue.send(
        InboxEvent(row.place, row.event_id), dedupe=f"pressed {row.place.route} {row.event_id}", line=line
    )


def as_title(entry: Entry) -> str:
    """The title of an entry in a list: what somebody wrote, as plain text."""
    return as_code(entry.title) or "`(no title)`"
