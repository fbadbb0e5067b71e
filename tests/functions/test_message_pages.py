"""Pages of a transcript: complete, in order, and never over the limit of a function's response."""

import json
from itertools import islice
from typing import Any

import pytest

from functions.http.problems import Json
from functions.status.pages import first_page
from shared.domain.messages import CUT, MAX_MESSAGE_BYTES, Message

LAMBDA_LIMIT = 6 * 1024 * 1024
TEXTS = {"plain": "x", "quotes": '"', "backslashes": "\\", "control": "\x01", "accents": "é", "emoji": "🙂"}


def response_bytes(page: list[Message]) -> int:
    """The size of a response as Lambda counts it."""
    body = Json({"messages": page, "after": 0, "next": None, "message_count": 1}).body
    return len(json.dumps({"statusCode": 200, "body": bytes(body).decode()}))


def read(messages: list[Message]) -> list[list[Message]]:
    """All pages, as a client reads them."""
    pages, after = [], 0
    while after < len(messages):
        pages.append(first_page(islice(messages, after, None)))
        after += len(pages[-1])
    return pages


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_page_is_below_the_limit_of_a_response(text: str) -> None:
    messages: list[Message] = [{"role": "user", "content": text * (MAX_MESSAGE_BYTES // 4), "n": n} for n in range(60)]

    pages = read(messages)

    assert [message for page in pages for message in page] == messages
    assert max(map(response_bytes, pages)) < LAMBDA_LIMIT


PARTS: list[Any] = [{"type": "text", "text": "y" * 7_000_000}]


@pytest.mark.parametrize("content", ["y" * 7_000_000, PARTS], ids=["text", "parts"])
def test_a_message_that_no_page_can_hold_is_shortened(content: Any) -> None:
    before, after = {"role": "user", "content": "before"}, {"role": "user", "content": "after"}

    ((first, huge, last),) = read([before, {"role": "assistant", "content": content}, after])

    assert (first, last) == (before, after)
    assert huge["role"] == "assistant"
    assert huge["content"].endswith(CUT)
