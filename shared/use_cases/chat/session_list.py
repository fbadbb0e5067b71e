"""`/sessions`: the person's sessions of this service, and those that are only on their machines."""

from collections.abc import Sequence

from shared.domain.lists import MOST, PAGE, Entry, EntryKind
from shared.domain.orders import SESSIONS, Native, Order, OrderState
from shared.domain.question_text import as_code
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import Busy
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.lists import OUTDATED, as_title, list_for, newest_list, show_list
from shared.use_cases.orders import look_after, make_order, orders_of

WAITS = 12_000
"""Milliseconds that a list waits for machines that are on."""
LOOK_AGAIN = 4.0
"""Seconds between two looks at orders; each answer sends a message at once, so these find what is overdue."""
LOOKED_THROUGH = 200
MAX_WORD = 100
NOTHING = "You have no sessions yet. Send `/new` to start one."
HEAD = "**Your sessions** — press one, or send `/bring NUMBER`:"


def list_sessions(services: Services, row: InboxRow, argument: str) -> str:
    """Ask the machines that are on, wait for them for a while, and list. Safe to repeat. Raises Busy while it waits."""
    word = " ".join(argument.split())[:MAX_WORD]
    if word.startswith("page ") and word[5:].isdigit():
        return _page(services, row, int(word[5:][:3]))
    now = services.clock.now()
    is_early = now < row.received_at + WAITS
    if is_early:
        asked = [runner for runner in _listing(services, row) if runner.is_online(now)]
        orders = [make_order(services, row, None, runner, kind=SESSIONS, argument=word) for runner in asked]
    else:
        orders = list(orders_of(services, row))
    waiting = [order for order in orders if not look_after(services, order)]
    if waiting and is_early:
        raise Busy(LOOK_AGAIN)
    done = {order.id: order for order in orders_of(services, row)}
    return _show(services, row, [done.get(order.id, order) for order in orders], word)


def _listing(services: Services, row: InboxRow) -> list[Runner]:
    return [one for one in services.store.runners.list(row.user_id) if SESSIONS in one.orders and not one.revoked]


def _show(services: Services, row: InboxRow, orders: Sequence[Order], word: str) -> str:
    names = {runner.id: runner.name for runner in _listing(services, row)}
    known = {
        session.id: session
        for session in services.store.sessions.list(row.user_id, limit=LOOKED_THROUGH).sessions
        if word.casefold() in (session.title or "").casefold()
    }
    found: list[tuple[float, Entry]] = []
    now = services.clock.now()
    for order in orders:
        for native in order.listed:
            session = services.store.sessions.get(native.session_id) if native.session_id else None
            if session is not None and session.user_id == row.user_id:
                known.pop(session.id, None)
            else:
                session = None
            found.append((native.age, _native(native, order, session, names if len(names) > 1 else {}, word)))
    found += [(max(0, now - session.updated_at) / 1000, _stored(session)) for session in known.values()]
    entries = [entry for _, entry in sorted(found, key=lambda one: one[0])][:MOST]
    notes = _notes(orders, names)
    if not entries:
        nothing = f"No session of yours has “{word}” in its title." if word else NOTHING
        return "\n\n".join([nothing, *notes])
    return show_list(services, row, list_for(services, row, entries), head=HEAD, line=_line, notes=notes)


def _page(services: Services, row: InboxRow, page: int) -> str:
    """A later page of the newest list."""
    listed = newest_list(services, row)
    if listed is None or not 1 <= page <= (len(listed.entries) + PAGE - 1) // PAGE:
        return OUTDATED.format("/sessions")
    return show_list(services, row, listed, head=HEAD, line=_line, page=page)


def _native(native: Native, order: Order, session: Session | None, names: dict[str, str], word: str) -> Entry:
    machine = f" on {names.get(order.runner_id, '')}" if names else ""
    title, place = native.title, "open in a terminal" if native.is_open else f"{native.agent}{machine}"
    if session is not None and not session.owner.is_cli:
        place = f"at {session.link or session.owner.route}"
        # Its thread has this title; the agent may have found another one, and a word that was asked for in that.
        title = session.title if session.title and word.casefold() in session.title.casefold() else title
    note = f"{native.project}, {_age(native.age)}, {place}"
    return Entry(EntryKind.NATIVE, native.id, order.runner_id, native.agent, title, note)


def _stored(session: Session) -> Entry:
    runner = session.runs_on.runner if session.runs_on else ""
    where = "in the terminal" if session.owner.is_cli else f"at {session.link or session.owner.route}"
    return Entry(EntryKind.SESSION, session.id, runner, title=session.shown_title, note=where)


def _line(entry: Entry) -> str:
    return f"{as_title(entry)} — {entry.note}"


def _age(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def _notes(orders: Sequence[Order], names: dict[str, str]) -> list[str]:
    """What the machines say of their lists, and which of them did not answer."""
    asked = {order.runner_id for order in orders}
    notes = [f"**{name}** is away." for runner_id, name in names.items() if runner_id not in asked]
    for order in orders:
        name = names.get(order.runner_id, "a machine")
        if order.state is not OrderState.DONE:
            notes.append(f"**{name}** did not answer in time.")
        elif order.said:
            notes.append(f"**{name}**: {as_code(order.said)}")
    return notes
