"""Pages of a transcript: complete, in order, and never over the limit of a function's response."""

import json
from itertools import islice

import pytest

from functions.http.problems import Json
from functions.status.pages import first_page
from shared.domain.messages import MAX_MESSAGE_BYTES, Message, canonical, problem_with

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


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_largest_message_fits_a_page(text: str) -> None:
    bare: Message = {"role": "user", "content": ""}
    room = MAX_MESSAGE_BYTES - len(canonical(bare))
    size = len(canonical({"role": "user", "content": text})) - len(canonical(bare))
    largest: Message = {"role": "user", "content": text * (room // size)}
    assert problem_with(largest) is None

    assert first_page([largest, largest])[0] == largest
