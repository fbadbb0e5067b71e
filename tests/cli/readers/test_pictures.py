"""Pictures in sessions of Claude Code and Codex: handed over beside the messages that show them."""

import base64
import hashlib
from typing import Any

import pytest

from handoff_cli.readers.claude_code.messages import messages_of as claude_code
from handoff_cli.readers.codex.messages import messages_of as codex
from handoff_cli.transcripts.pictures import MOST, Picture, newest, pictures_in

PNG = b"\x89PNG\r\n\x1a\n and pixels"
DATA = base64.b64encode(PNG).decode()
DIGEST = hashlib.sha256(PNG).hexdigest()
ENTRY = {"id": DIGEST, "name": "picture.png", "type": "image/png", "size": len(PNG), "sha256": DIGEST}


def of_claude(*parts: Any) -> list[dict[str, Any]]:
    return [{"type": "user", "uuid": "u", "message": {"role": "user", "content": list(parts)}}]


def of_codex(*parts: Any) -> list[dict[str, Any]]:
    return [{"type": "response_item", "payload": {"type": "message", "role": "user", "content": list(parts)}}]


TEXT = {"type": "text", "text": "what is wrong?"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
CODEX_TEXT = {"type": "input_text", "text": "what is wrong?"}
CODEX_IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}


@pytest.mark.parametrize(
    ("read", "lines"),
    [(claude_code, of_claude(TEXT, IMAGE)), (codex, of_codex(CODEX_TEXT, CODEX_IMAGE))],
    ids=["claude-code", "codex"],
)
def test_a_picture_is_named_by_its_message_and_handed_over(read: Any, lines: list[dict[str, Any]]) -> None:
    pictures: list[Picture] = []
    (message,) = read(lines, pictures)
    assert "what is wrong?" in message["content"]
    assert DATA not in str(message)
    assert message["files"] == [ENTRY]
    assert [picture.content for picture in pictures] == [PNG]


def test_a_picture_that_a_tool_has_made_stays() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}
    pictures: list[Picture] = []
    claude_code(of_claude(result), pictures)
    assert pictures == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": DATA}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "no base64!"}},
        {"type": "image"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_image", "image_url": None},
        "text",
    ],
)
def test_what_is_no_picture_is_passed_over(part: Any) -> None:
    assert pictures_in([part]) == []


def test_the_newest_pictures_are_handed_over_once() -> None:
    pictures = [Picture({"id": str(number)}, b"") for number in range(MOST + 2)]
    assert list(newest([*pictures, pictures[-1]])) == [str(number) for number in range(3, MOST + 2)]
