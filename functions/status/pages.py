"""Pages of a transcript that fit a function's response."""

import itertools
import json
from collections.abc import Iterable

from shared.domain.messages import Message, fitting_reply, text_of

PAGE_BYTES = 3 * 1024 * 1024
"""A page of messages stays well below the 6 MB limit of a function's response."""


def first_page(messages: Iterable[Message]) -> list[Message]:
    """As many of the first messages as fit, at least one. A message that no page could hold is shortened."""
    shown = (message if _size(message) <= PAGE_BYTES else _shortened(message) for message in messages)
    sized = ((message, _size(message)) for message in shown)
    ends = itertools.accumulate(sized, lambda page, one: (one[0], page[1] + one[1]))
    return [message for message, _ in itertools.takewhile(lambda end: end[1] <= PAGE_BYTES, ends)]


def _size(message: Message) -> int:
    """The bytes of a message in a function's response, which carries the body as a JSON text."""
    return len(json.dumps(json.dumps(message)))


def _shortened(message: Message) -> Message:
    """The service stores no such message any more, but earlier versions did."""
    return {"role": message["role"], "content": fitting_reply(text_of(message))}
