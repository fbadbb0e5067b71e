"""Buttons of a list of what an agent offers: a press is the list's command with that value."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.buttons import number_in
from shared.domain.dials import DIALS
from shared.domain.orders import PRESSED
from shared.domain.routes import Place, notices_at
from shared.domain.sessions import Session
from shared.errors import Rejected
from shared.ports.inbound import Pressed
from shared.ports.platforms import Button
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.deliver import parts_for
from shared.use_cases.questions.decide import NO_LONGER_ASKED

DIAL_BUTTON = "d"
LISTED_FOR = 3_600_000
"""Milliseconds in which the buttons of a list may be pressed."""
MAX_LABEL = 40


def answer_parts(
    services: Services, place: Place, journal: str, markdown: str, buttons: Sequence[tuple[str, str]] = ()
) -> list[OutPart]:
    """The answer to a command for the outbox; none where its platform was removed.

    Its last part has the buttons, ids with their labels, where the platform has enough of them.
    """
    try:
        parts = parts_for(services, notices_at(place), journal, place, markdown)
        can = platform_of(services, place).capabilities
    except Rejected:
        return []
    if not can.buttons or not 0 < len(buttons) <= can.most_buttons:
        return parts
    shown = tuple(Button(id_, label[:MAX_LABEL]) for id_, label in buttons)
    return [*parts[:-1], replace(parts[-1], part=replace(parts[-1].part, buttons=shown))]


def press_dial(services: Services, session: Session, fields: Sequence[str], pressed: Pressed) -> str:
    """Choose what the button of a list says: the same as its command, typed now. A redelivery is the same command.

    The list is an hour old at most: the agent offers others by then.
    """
    index = number_in(fields[1]) if len(fields) == 2 else None  # order and index
    runner = session.runs_on.runner if session.runs_on else ""
    order = services.store.orders.get(session.user_id, runner, fields[0]) if index is not None else None
    now = services.clock.now()
    if order is None or index is None or index >= len(order.choices) or order.kind not in DIALS:
        return NO_LONGER_ASKED
    if (order.session_id, order.epoch) != (session.id, session.epoch) or now >= order.created_at + LISTED_FOR:
        return NO_LONGER_ASKED
    choose_by_press(services, session, pressed, order.kind, order.choices[index].value)
    return f"{DIALS[order.kind]}: {order.choices[index].value}. Your machine is asked."


def choose_by_press(services: Services, session: Session, pressed: Pressed, dial: str, value: str) -> None:
    """Run the command that the button of a list stands for. Safe to repeat."""
    # It sorts before all messages, so that these are found without looking at presses.
    event_id, now = f"{PRESSED}{pressed.event_id}", services.clock.now()
    row = InboxRow(pressed.place, event_id, pressed.sender, f"/{dial} {value}", now, session.user_id)
    services.store.inbox.put(row)
    line = f"{dial} {row.place.route} {row.event_id}"
    services.queue.send(InboxEvent(row.place, row.event_id), dedupe=f"pressed {line}", line=line)
