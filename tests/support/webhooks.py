"""What tests ask of a parsed webhook."""

from shared.domain.attachments import Attachment, counted
from shared.ports.inbound import Event, Heard, Inbound, Parsed, Pressed, Receipt


def done_in(parsed: Parsed) -> list[Event]:
    """What people did, without what is noted about it and without reports on the bot's messages."""
    return [event for event in parsed.events if not isinstance(event, Heard | Receipt)]


def message_in(parsed: Parsed) -> Inbound:
    """The one message of a webhook; fails where there is none, or another event."""
    (event,) = done_in(parsed)
    assert isinstance(event, Inbound)
    return event


def held_by(message: Inbound) -> tuple[Attachment, ...]:
    """What a message holds beside text, by kind: files first."""
    return (*counted(file.kind for file in message.files), *message.attachments)


def press_in(parsed: Parsed) -> Pressed:
    """The one press of a webhook; fails where there is none, or another event."""
    (event,) = done_in(parsed)
    assert isinstance(event, Pressed)
    return event
