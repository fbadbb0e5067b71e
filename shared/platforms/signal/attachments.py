"""Files inside JSON, as the daemon of signal-cli takes and gives them: base64, decoded and encoded piece by piece."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from shared.domain.files import OutFile
from shared.platforms.uploads import FileReader, posted_name

_DATA = re.compile(rb'"data"\s*:\s*"')
_LONGEST_HEAD = 64 * 1024
_READ = 48 * 1024  # three bytes become four characters
_PLACE = "\x00file\x00"


class NoData(Exception):
    """An answer without a file: `head` is its beginning."""

    def __init__(self, head: bytes) -> None:
        super().__init__("no file")
        self.head = head


def decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of the field `data` of an answer. Raises NoData if there is none, or if it does not end."""
    head, pieces = b"", iter(chunks)
    while (found := _DATA.search(head)) is None:
        if (chunk := next(pieces, None)) is None or len(head) > _LONGEST_HEAD:
            raise NoData(head)
        head += chunk
    left = head[found.end() :]
    while True:
        text, quoted, _ = left.partition(b'"')
        whole = len(text) if quoted else len(text) - len(text) % 4
        try:
            if data := base64.b64decode(text[:whole], validate=True):
                yield data
        except binascii.Error:
            raise NoData(b"") from None
        if quoted:
            return
        left = text[whole:]
        if (chunk := next(pieces, None)) is None:
            raise NoData(b"")
        left += chunk


def encoded(body: Mapping[str, Any], file: OutFile) -> tuple[int, Iterator[bytes]]:
    """The request with the file as its one attachment: how long it is, and its bytes."""
    whole = {**body, "params": {**body["params"], "attachments": [_PLACE]}}
    before, after = (part.encode() for part in json.dumps(whole).split(json.dumps(_PLACE)[1:-1]))
    reader = FileReader(file)
    before += f"data:{reader.media_type};filename={quote(posted_name(file.name), safe='')};base64,".encode()

    def pieces() -> Iterator[bytes]:
        yield before
        left = b""
        while chunk := reader.read(_READ):
            left += chunk
            whole = len(left) - len(left) % 3
            yield base64.b64encode(left[:whole])
            left = left[whole:]
        yield base64.b64encode(left) + after

    return len(before) + (file.size + 2) // 3 * 4 + len(after), pieces()
