"""Pictures for models: the newest within the limits, in the form of each provider, and only where the model sees."""

import base64
from dataclasses import replace
from typing import Any

from shared.agents.bedrock.messages import to_converse
from shared.agents.openai.messages import to_openai
from shared.agents.pictures import MOST, MOST_BYTES, pictures_of
from shared.agents.transcript.window import prepare
from shared.domain.files import StoredFile
from shared.domain.messages import Message
from shared.ports.agents import Cancellation, TurnInput


def file(number: int, size: int = 3, media_type: str = "image/png") -> StoredFile:
    return StoredFile(f"{number:064x}", f"{number}.png", media_type, size)


def said(*files: StoredFile) -> list[Message]:
    return [{"role": "user", "content": f"[attached: {one.name}]", "files": [one.value()]} for one in files]


def turn(messages: list[Message], gone: tuple[str, ...] = ()) -> TurnInput:
    def read(one: StoredFile) -> bytes | None:
        return None if one.id in gone else one.name.encode()

    return TurnInput(messages, 0, Cancellation(), read_file=read)


def given(messages: list[Message], *, sees: bool = True, gone: tuple[str, ...] = ()) -> dict[str, bytes]:
    return dict(pictures_of(prepare(messages, note=None), turn(messages, gone), sees=sees))


def test_a_model_that_sees_gets_the_picture_beside_the_words() -> None:
    messages = said(file(1))
    conversation = prepare(messages, note=None)
    pictures = given(messages)
    url = f"data:image/png;base64,{base64.b64encode(b'1.png').decode()}"
    (openai,) = to_openai(conversation, pictures=pictures)
    assert openai["content"] == [
        {"type": "text", "text": "[attached: 1.png]"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    converse: dict[str, Any] = to_converse(conversation, pictures)
    assert converse["messages"][0]["content"] == [
        {"text": "[attached: 1.png]"},
        {"image": {"format": "png", "source": {"bytes": b"1.png"}}},
    ]


def test_a_model_that_does_not_see_gets_the_name() -> None:
    messages = said(file(1))
    assert given(messages, sees=False) == {}
    assert to_openai(prepare(messages, note=None)) == [{"role": "user", "content": "[attached: 1.png]"}]


def test_the_newest_pictures_are_given() -> None:
    files = [file(number) for number in range(MOST + 2)]
    assert set(given(said(*files))) == {one.id for one in files[2:]}


def test_what_is_too_large_gone_or_no_picture_is_left_out() -> None:
    large, gone, text = file(1, MOST_BYTES + 1), file(2), file(3, media_type="text/plain")
    assert given(said(large, gone, text), gone=(gone.id,)) == {}


def test_a_model_on_bedrock_that_reads_gets_documents_once_by_a_name_of_ours() -> None:
    files = [file(number, 9, "application/pdf") for number in range(7)]
    messages = said(*files, file(8, 9, "text/plain"), file(9), files[6])
    conversation = prepare(messages, note=None)
    contents = {one.id: b"%PDF-1.7 " for one in files[2:]} | {files[1].id: b"not a PDF"}
    asked = replace(turn(messages), read_file=lambda one: contents.get(one.id))
    documents = pictures_of(conversation, asked, sees=True, reads=True)
    assert documents == {one.id: b"%PDF-1.7 " for one in files[2:]}
    (message,) = to_converse(conversation, documents)["messages"]
    assert message["content"][1] == {
        "document": {"format": "pdf", "name": f"document {files[2].id[:12]}", "source": {"bytes": b"%PDF-1.7 "}}
    }
    assert sum("document" in block for block in message["content"]) == len(documents)
    assert given(said(*files)) == {}


def test_files_that_cannot_be_read_are_left_out() -> None:
    odd: list[Message] = [{"role": "user", "content": "hi", "files": ["a", {"id": 1}, {"id": "x" * 64}]}]
    assert given(odd) == {}
