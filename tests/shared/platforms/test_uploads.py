"""Files that are posted: their bytes, their names, and files inside JSON."""

import base64
import json
import os
from collections.abc import Iterator

import pytest

from shared.domain.files import OutFile
from shared.platforms.markdown.split import utf16
from shared.platforms.signal.attachments import NoData, decoded, encoded
from shared.platforms.uploads import FileReader, cut, posted_name

DATA = bytes(range(256)) * 500


def out(data: bytes = DATA, name: str = "a.bin", media_type: str = "application/x-a") -> OutFile:
    def read() -> Iterator[bytes]:
        yield from (data[start : start + 1000] for start in range(0, len(data), 1000))

    return OutFile(name, media_type, len(data), read)


def test_a_file_is_read_in_pieces_and_again_from_the_start() -> None:
    reader = FileReader(out())
    assert (reader.tell(), reader.seek(0, os.SEEK_END), reader.read(1)) == (0, len(DATA), b"")
    for _ in range(2):
        reader.seek(0)
        pieces = list(iter(lambda: reader.read(5000), b""))
        assert b"".join(pieces) == DATA
        assert max(map(len, pieces)) <= 1000
        assert reader.tell() == len(DATA)


@pytest.mark.parametrize(
    ("name", "posted"),
    [
        ("plot.png", "plot.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\plan.pdf", "plan.pdf"),
        ('a\x00\r\n"b".txt', "a b.txt"),
        ("n" * 300 + ".txt", "n" * 116 + ".txt"),
        ("a." + "x" * 300, "a." + "x" * 118),
        (".env", "env"),
        ("Übersicht.md", "Übersicht.md"),
        ("/", "file"),
        ("", "file"),
    ],
)
def test_a_name_is_one_of_a_file(name: str, posted: str) -> None:
    assert posted_name(name) == posted


@pytest.mark.parametrize("media_type", ["", "text", "text/x\r\nX-Evil: 1", "text/plain; charset=x", "é/x"])
def test_a_type_that_cannot_stand_in_a_header_does_not(media_type: str) -> None:
    assert FileReader(out(media_type=media_type)).media_type == "application/octet-stream"


def test_a_caption_is_cut_by_its_length_on_the_platform() -> None:
    assert cut("🚀" * 100, 50, utf16) == "🚀" * 25
    assert cut("words", 50, utf16) == "words"


def test_a_file_in_a_request_is_one_data_uri_of_the_told_length() -> None:
    length, pieces = encoded(
        {"method": "send", "params": {"message": 'a "quoted" \x00file\x01'}}, out(name='a";b,.bin')
    )
    body = b"".join(pieces)

    assert len(body) == length
    (uri,) = json.loads(body)["params"]["attachments"]
    head, data = uri.split(",", 1)
    assert base64.b64decode(data) == DATA
    assert head.startswith("data:application/x-a;filename=")
    assert head.count(";") == 2


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_a_file_in_an_answer_is_decoded_however_it_is_cut(size: int) -> None:
    whole = json.dumps(
        {"jsonrpc": "2.0", "result": {"data": base64.b64encode(DATA[:3001]).decode()}, "id": "1"}
    ).encode()
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]

    assert b"".join(decoded(pieces)) == DATA[:3001]
    if size == 1000:
        with pytest.raises(NoData):
            list(decoded(pieces[:2]))


@pytest.mark.parametrize("answer", [b"", b'{"error": {}}', b'{"data": "????"}', b'{"data": "QUJD', b"x" * 10**6])
def test_an_answer_without_a_file_is_none(answer: bytes) -> None:
    with pytest.raises(NoData):
        list(decoded([answer[start : start + 9000] for start in range(0, len(answer), 9000)]))
