"""Buttons of a list of what the user's own agent offers: a press is the list's command with that value."""

from collections.abc import Sequence

from shared.domain.buttons import number_in
from shared.domain.dials import DIALS
from shared.domain.sessions import Session
from shared.ports.inbound import Pressed
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.questions.decide import NO_LONGER_ASKED

LISTED_FOR = 3_600_000
"""Milliseconds in which the buttons of a list may be pressed."""


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
    value = order.choices[index].value
    # It sorts before all messages, so that these are found without looking at presses.
    row = InboxRow(
        pressed.place, f"!{pressed.event_id}", pressed.sender, f"/{order.kind} {value}", now, session.user_id
    )
    services.store.inbox.put(row)
    line = f"{order.kind} {row.place.route} {row.event_id}"
    services.queue.send(InboxEvent(row.place, row.event_id), dedupe=f"pressed {line}", line=line)
    return f"{DIALS[order.kind]}: {value}. Your machine is asked."
