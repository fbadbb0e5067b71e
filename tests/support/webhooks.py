"""What tests ask of a parsed webhook."""

from shared.ports.inbound import Inbound, Parsed


def message_in(parsed: Parsed) -> Inbound:
    """The one message of a webhook; fails where there is none, or another event."""
    (event,) = parsed.events
    assert isinstance(event, Inbound)
    return event
