"""`/bring` and `/new PROJECT`: let a machine bring one of its sessions into a new thread, or begin one there."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.commands import MODEL, first_words
from shared.domain.lists import Entry, EntryKind
from shared.domain.orders import BEGIN, BRING
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import Busy, HandoffInFlight, RequestRefused, SessionBusy
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.chat.dial_commands import AWAY, LONGEST_WAIT, TOO_OLD
from shared.use_cases.chat.move_command import MAX_FIRST_WORDS, asked_handoff, key_of_row
from shared.use_cases.chat.target import in_the_way, target_of
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from shared.use_cases.lists import OUTDATED, TOLD, chosen, key_of, list_for, show_list
from shared.use_cases.orders import look_after, make_order, order_of

HERE = "here"
"""The word that lets a session replace the one that lives here, where there are no threads."""
SHORT = 8
ON_ITS_WAY = "On its way. I say here when it is there."
NO_PROJECTS = (
    "None of your machines has a project for sessions from a chat. Run `handoff projects add DIR` on one of them."
)


@dataclass(frozen=True)
class Place:
    """A directory on a machine, and an agent there."""

    runner: Runner
    agent: str
    label: str


def bring(services: Services, row: InboxRow, argument: str) -> str:
    """Bring an entry of the newest list. Safe to repeat: one row leads to one handoff, and so does one entry. Raises Busy."""
    if (followed := _followed(services, row)) is not None:
        return followed
    replaces, said = _replaces(argument)
    entry = chosen(services, row, said)
    if entry is None or entry.kind not in (EntryKind.NATIVE, EntryKind.SESSION):
        return OUTDATED.format("/sessions")
    session = services.store.sessions.get(entry.id) if entry.kind is EntryKind.SESSION else None
    if entry.kind is EntryKind.SESSION:
        if session is None or session.user_id != row.user_id:
            return f"{entry.title} is gone. Send `/sessions` for a new list."
        if not session.owner.is_cli:
            return f"**{session.shown_title}** lives at {session.link or session.owner.route} already."
    if not replaces and (way := _asks_first(services, row, f"/bring {HERE} {said}")):
        return way
    if session is not None and session.runs_on is None:
        return _request(services, row, session)
    runner = services.store.runners.get(row.user_id, entry.runner_id)
    if (refusal := _unusable(services, runner, BRING)) or runner is None:
        return refusal
    key = key_of(services, row, said)
    make_order(services, row, None, runner, kind=BRING, argument=entry.id, agent=entry.agent, once=key)
    raise Busy(LONGEST_WAIT)


def begin(services: Services, row: InboxRow, argument: str) -> str:
    """Begin a session of the person's own agent in a project. Safe to repeat, and one button begins one. Raises Busy."""
    if (followed := _followed(services, row)) is not None:
        return followed
    replaces, said = _replaces(argument)
    skip, once = 1 if replaces else 0, ""
    if said.startswith("@"):
        entry = chosen(services, row, said[1:])
        if entry is None or entry.kind is not EntryKind.PROJECT:
            return OUTDATED.format("/new")
        found = [one for one in _places(services, row) if (one.runner.id, one.agent, one.label) == _named(entry)]
        skip, once = skip + 1, key_of(services, row, said[1:])
    else:
        found, named = _matching(_places(services, row), said.split())
        skip += named
    now = services.clock.now()
    found = [place for place in found if place.runner.is_online(now)] or found
    if not found:
        return _which(services, row, said.split()[0])
    if len(found) > 1:
        several = len({place.runner.id for place in found}) > 1
        machines = {place.runner.id: f" {_word(place.runner, found)}" if several else "" for place in found}
        ways = "\n".join(f"- `/new {one.label} {one.agent}{machines[one.runner.id]} …`" for one in found)
        return f"Say which one, with your words in place of …:\n{ways}"
    (place,) = found
    if len(first_words(argument, skip=skip)) > MAX_FIRST_WORDS:
        return f"First words have at most {MAX_FIRST_WORDS} characters. Send fewer, and the rest in the new thread."
    if refusal := _unusable(services, place.runner, BEGIN):
        return refusal
    if not replaces and (way := _asks_first(services, row, f"/new {HERE} {place.label} …")):
        return way
    make_order(
        services, row, None, place.runner, kind=BEGIN, argument=place.label, agent=place.agent, once=once, skip=skip
    )
    raise Busy(LONGEST_WAIT)


def list_projects(services: Services, row: InboxRow) -> str | None:
    """Answer `/new` alone with the projects and the deployment's model; None if no machine has a project."""
    places = _places(services, row)
    if not places:
        return None
    several_agents = len({place.agent for place in places}) > 1
    several_machines = len({place.runner.id for place in places}) > 1
    now = services.clock.now()
    entries = [
        Entry(
            EntryKind.PROJECT,
            place.label,
            place.runner.id,
            place.agent,
            " · ".join(
                [
                    place.label,
                    *([place.agent] if several_agents else []),
                    *([place.runner.name] if several_machines else []),
                ]
            ),
            "" if place.runner.is_online(now) else " — away",
        )
        for place in places[:9]
    ]
    entries.append(Entry(EntryKind.MODEL, title="The model of this service, here"))
    head = "**A new session** — press one, or send `/new PROJECT` and your first words:"
    return show_list(
        services, row, list_for(services, row, entries), head=head, line=lambda entry: f"{entry.title}{entry.note}"
    )


def _followed(services: Services, row: InboxRow) -> str | None:
    """What answers the row once it has made an order, or asked for a handoff; None before. Raises Busy."""
    order = order_of(services, row)
    if order is None:
        return ON_ITS_WAY if asked_handoff(services, row) else None
    if not look_after(services, order):
        raise Busy(LONGEST_WAIT)
    return ON_ITS_WAY if asked_handoff(services, row) else TOLD


def _replaces(argument: str) -> tuple[bool, str]:
    first, _, rest = argument.partition(" ")
    return (True, rest.strip()) if first.lower() == HERE and rest.strip() else (False, argument.strip())


def _asks_first(services: Services, row: InboxRow, how: str) -> str:
    """What to say before a session leaves a chat that has no threads; empty if none has to."""
    tenant = in_the_way(services, target_of(services, row.user_id, row.place))
    if tenant is None:
        return ""
    return (
        f"{row.place.platform} has no threads here, so **{tenant.shown_title}** would go back to its terminal. "
        f"Send `{how}` to let that happen."
    )


def _unusable(services: Services, runner: Runner | None, kind: str) -> str:
    if runner is None or runner.revoked:
        return "The machine of this list was revoked, so nothing was brought."
    if not runner.is_online(services.clock.now()):
        return AWAY.format(runner.name)
    return "" if kind in runner.orders else TOO_OLD.format(runner.name)


def _request(services: Services, row: InboxRow, session: Session) -> str:
    """A session without a machine needs none: an ordinary handoff."""
    target = target_of(services, row.user_id, row.place)
    asked = HandoffRequest(
        session.id,
        row.place.platform,
        session.epoch,
        target=target.place.chat,
        replace=not target.has_threads,
        command=row.event_id,
        asked_at=row.place.route,
    )
    try:
        request_handoff(services, row.user_id, asked, idempotency_key=key_of_row(row))
    except (SessionBusy, HandoffInFlight):
        return "This session is at work, or on its way to a thread already. Nothing was moved."
    except RequestRefused as refused:
        return f"{refused.message} Nothing was moved."
    return ON_ITS_WAY


def _places(services: Services, row: InboxRow) -> list[Place]:
    return [
        Place(runner, agent, label)
        for runner in services.store.runners.list(row.user_id)
        if not runner.revoked and BEGIN in runner.orders
        for label in runner.projects
        for agent in sorted(runner.agents)
    ]


def _matching(places: Sequence[Place], words: Sequence[str]) -> tuple[list[Place], int]:
    """The places that the first words name, and how many words that takes: the project, then agent and machine if needed."""
    found = [place for place in places if words and place.label.lower() == words[0].lower()]
    named = 1
    while len(found) > 1 and named < len(words):
        word = words[named].lower()
        fitting = [place for place in found if word in _words(place)]
        if not fitting or len(fitting) == len(found):
            break
        found, named = fitting, named + 1
    return found, named


def _named(entry: Entry) -> tuple[str, str, str]:
    return entry.runner_id, entry.agent, entry.id


def _words(place: Place) -> tuple[str, str, str]:
    """What may name it, beside the project: its agent, or its machine."""
    return place.agent.lower(), "-".join(place.runner.name.split()).lower(), place.runner.id[:SHORT].lower()


def _word(runner: Runner, places: Sequence[Place]) -> str:
    """The name of a machine as one word, or the beginning of its id where another one has that name."""
    same = {place.runner.id for place in places if place.runner.name == runner.name}
    return "-".join(runner.name.split()) if len(same) == 1 else runner.id[:SHORT]


def _which(services: Services, row: InboxRow, label: str) -> str:
    labels = sorted({place.label for place in _places(services, row)})
    if not labels:
        return f"{NO_PROJECTS} `/new {MODEL}` starts a session of the model of this service here."
    known = ", ".join(f"`{label}`" for label in labels)
    return f"You have no project “{label[:40]}”. Your projects: {known}. `/new {MODEL}` starts a session of the model here."
