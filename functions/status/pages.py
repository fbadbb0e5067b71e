"""Pages of a transcript that fit a function's response."""

import itertools
import json
from collections.abc import Iterable

from shared.domain.messages import Message

PAGE_BYTES = 3 * 1024 * 1024
"""A page of messages stays well below the 6 MB limit of a function's response."""


def first_page(messages: Iterable[Message]) -> list[Message]:
    """As many of the first messages as fit. One always fits: a message has at most `MAX_MESSAGE_BYTES`."""
    sized = ((message, _size(message)) for message in messages)
    ends = itertools.accumulate(sized, lambda page, one: (one[0], page[1] + one[1]))
    return [message for message, _ in itertools.takewhile(lambda end: end[1] <= PAGE_BYTES, ends)]


def _size(message: Message) -> int:
    """The bytes of a message in a function's response, which carries the body as a JSON text."""
    return len(json.dumps(json.dumps(message)))
