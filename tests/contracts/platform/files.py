"""Files both ways: people's are fetched byte for byte or refused with a sentence, the bot's arrive once."""

import base64
import hashlib
import json
import logging
import random
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from local.chats.simulator.files import ELSEWHERE, SAMPLES
from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited, Rejected
from shared.ports.inbound import Inbound
from shared.ports.platforms import Part, Platform
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.garbling import adapter_through, garbling
from tests.contracts.platform.harness import MESSAGE, PlatformHarness
from tests.support.servers import HttpServer, Request, Response

LIMIT = 1_000_000
LONG = bytes(random.Random(5).randbytes(300_000))  # noqa: S311  # several reads of a stream
PICTURE = SAMPLES["picture"][2]
HOSTILE = ("../../etc/passwd", "..\\boot.ini", "a\x00b\r\nX-Evil: 1\x1b[2J.txt", "n" * 300 + ".txt", '"; q="', "")


def given(name: str, media_type: str, data: bytes) -> dict[str, str]:
    return {"name": name, "type": media_type, "data": base64.b64encode(data).decode()}


def out(name: str, media_type: str, data: bytes) -> OutFile:
    def read() -> Iterator[bytes]:
        for start in range(0, len(data), 10_000):
            yield data[start : start + 10_000]

    return OutFile(name, media_type, len(data), read)


class Fetches(PlatformTests):
    """Files of people."""

    def said(self, at: PlatformHarness, *files: dict[str, str], text: str = "") -> Inbound:
        place = self.open(at, self.first_home)
        at.listen()
        at.write(self.first_home, place, text, files=list(files))
        return at.next_message()

    def test_a_file_arrives_byte_for_byte(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG), text=MESSAGE)

        (file,) = said.files
        assert (said.text, file.kind, file.size or len(LONG)) == (MESSAGE, "file", len(LONG))
        pieces = list(at.platform.fetch_file(said.place, file, limit=LIMIT))
        assert b"".join(pieces) == LONG
        assert len(pieces) > 1
        assert all(len(piece) <= 100_000 for piece in pieces)

    def test_each_kind_of_file_can_be_fetched(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        at.listen()
        for kind in set(SAMPLES) & set(self.kinds):
            name, media_type, data = SAMPLES[kind]
            at.write(self.first_home, place, "", attachments=[kind])
            (file,) = at.next_message().files
            assert (file.kind, file.size or len(data)) == (kind, len(data))
            assert file.name in (name, "")
            assert file.media_type.partition("/")[0] in (media_type.partition("/")[0], "")
            assert b"".join(at.platform.fetch_file(place, file, limit=LIMIT)) == data

    def test_a_reference_is_no_address_and_no_secret(self, at: PlatformHarness) -> None:
        (file,) = self.said(at, given("a.txt", "text/plain", b"words")).files

        assert "://" not in file.reference
        assert at.simulator.url.partition("//")[2] not in file.reference
        assert not [secret for secret in at.secrets.values.values() if secret in file.reference]

    def test_a_hostile_name_hides_no_file(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        at.listen()
        for name in HOSTILE:
            at.write(self.first_home, place, "", files=[given(name, "text/plain", b"words")])
            (file,) = at.next_message().files
            assert len(file.name) <= 255
            assert b"".join(at.platform.fetch_file(place, file, limit=LIMIT)) == b"words"

    def test_closing_ends_the_request(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        pieces = at.platform.fetch_file(said.place, said.files[0], limit=LIMIT)
        assert next(pieces)
        pieces.close()  # type: ignore[attr-defined]  # a generator

        assert b"".join(at.platform.fetch_file(said.place, said.files[0], limit=LIMIT)) == LONG

    def test_a_download_that_is_not_the_file_is_refused(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        for kind in ("longer", "redirect", "page", "encoded", "gone"):
            at.arm(kind)
            with pytest.raises(Rejected) as refused:
                self.fetch(at.platform, said)
            assert re.fullmatch(r"[A-Z][^<>{}]{10,200}", str(refused.value))
            assert ELSEWHERE not in str(refused.value)

    def test_a_download_that_breaks_can_be_repeated(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        for kind in ("cut", "reset", "server_error"):
            at.arm(kind, on="download")
            with pytest.raises(NotSent):
                self.fetch(at.platform, said)
        if self.has_http_downloads:
            at.arm("rate_limit", on="download", seconds=7)
            with pytest.raises(RateLimited) as limited:
                self.fetch(at.platform, said)
            assert limited.value.after == pytest.approx(7)

        assert self.fetch(at.platform, said) == LONG

    def test_a_file_over_the_limit_is_refused_before_it_is_read(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))

        with pytest.raises(Rejected, match=r"larger than the 0\.2 MB"):
            self.fetch(at.platform, said, limit=200_000)

    def test_a_file_without_a_size_ends_at_the_limit(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        unknown = replace(said, files=(replace(said.files[0], size=None),))

        with pytest.raises(Rejected, match="larger than"):
            self.fetch(at.platform, unknown, limit=200_000)
        assert self.fetch(at.platform, unknown) == LONG

    def test_a_file_of_another_size_than_announced_is_no_file(self, at: PlatformHarness) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        shorter, longer = (replace(said, files=(replace(said.files[0], size=len(LONG) + more),)) for more in (-1, 1))

        with pytest.raises(Rejected):
            self.fetch(at.platform, shorter)
        with pytest.raises((Rejected, NotSent)):
            self.fetch(at.platform, longer)

    def test_an_odd_reference_leads_nowhere(self, at: PlatformHarness) -> None:
        said = self.said(at, given("a.txt", "text/plain", b"words"))
        before = len(at.simulator.calls)
        for reference in (
            "../../secrets",
            "http://127.0.0.1:9/x",
            "//127.0.0.1:9/x",
            "a@b/c",
            "1/2/3?x",
            "\r\nX: y",
            "é",
        ):
            with pytest.raises(Rejected):
                self.fetch(at.platform, replace(said, files=(ChatFile("file", reference),)))

        assert "download" not in [call.name for call in at.simulator.calls[before:]]

    def test_another_address_is_never_asked(self, at: PlatformHarness) -> None:
        """Neither by a redirect nor because an answer names it, not even on the same machine."""
        said = self.said(at, given("run.log", "text/plain", LONG))
        with canary() as other, garbling(at) as proxy:

            def fetch(**instead: Response) -> bytes:
                proxy.answers.clear()
                proxy.replace = {int(number.removeprefix("n")): answer for number, answer in instead.items()}
                with adapter_through(proxy, at) as platform:
                    return self.fetch(platform, said)

            assert fetch() == LONG
            whole = list(proxy.answers)
            with pytest.raises(Rejected):
                fetch(**{f"n{len(whole) - 1}": Response(302, b"", {"location": f"{other.url}/file"})})
            for number, answer in enumerate(whole):
                body = _pointed_at(answer.body, other.url)
                if body != answer.body:
                    with pytest.raises(Rejected):
                        fetch(**{f"n{number}": Response(200, body, {"content-type": "application/json"})})

        assert other.asked == []

    def test_no_secret_is_in_an_error_or_in_the_log(
        self, at: PlatformHarness, caplog: pytest.LogCaptureFixture
    ) -> None:
        said = self.said(at, given("run.log", "text/plain", LONG))
        caplog.set_level(logging.DEBUG)
        texts = [repr(said), repr(at.platform)]
        for kind in ("longer", "redirect", "page", "gone", "cut", "reset", "server_error"):
            at.arm(kind, on="download")
            with pytest.raises(PlatformError) as error:
                self.fetch(at.platform, said)
            texts.append("".join(traceback.format_exception(error.value)))
        assert self.fetch(at.platform, said) == LONG

        own = [record for record in caplog.records if not record.name.startswith(("aiohttp", "asyncio"))]
        texts += [record.getMessage() for record in own]
        assert not [text for text in texts for secret in at.secrets.values.values() if secret in text]

    @property
    def kinds(self) -> tuple[str, ...]:
        from tests.contracts.platform.attachments import wire_of  # noqa: PLC0415  # beside it

        return tuple(wire_of(self.chat).attachments)

    @property
    def has_http_downloads(self) -> bool:
        return self.chat.has_token

    def fetch(self, platform: Platform, said: Inbound, *, limit: int = LIMIT) -> bytes:
        return b"".join(platform.fetch_file(said.place, said.files[0], limit=limit))


class SendsFiles(PlatformTests):
    """Files of the bot."""

    def test_a_picture_arrives_with_its_caption(self, at: PlatformHarness) -> None:
        home = self.first_home
        place = self.open(at, home)
        message = at.platform.send_file(place, out("plot.png", "image/png", PICTURE), Part("A plot"), key="a")

        (posted,) = with_files(at, home, place)
        assert posted["id"] == message
        assert posted["text"] == "A plot"
        assert digests(posted) == [hashlib.sha256(PICTURE).hexdigest()]

    def test_a_document_arrives_without_a_caption(self, at: PlatformHarness) -> None:
        home = self.first_home
        place = self.open(at, home)
        at.platform.send_file(place, out("run.txt", "text/plain", LONG), None, key="a")

        (posted,) = with_files(at, home, place)
        (file,) = posted["files"]
        assert (posted["text"], file["size"], digests(posted)) == ("", len(LONG), [hashlib.sha256(LONG).hexdigest()])

    def test_what_is_called_a_picture_and_is_none_arrives_too_or_is_refused(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        try:
            at.platform.send_file(place, out("plot.png", "image/png", b"no picture"), None, key="a")
        except Rejected:
            assert with_files(at, self.first_home, place) == []
        else:
            assert len(with_files(at, self.first_home, place)) == 1

    def test_a_long_caption_is_cut(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        can = at.platform.capabilities
        words = "wörter 🚀 " * can.caption_limit
        at.platform.send_file(place, out("plot.png", "image/png", PICTURE), Part(words), key="a")

        (posted,) = with_files(at, self.first_home, place)
        assert words.startswith(posted["text"])
        assert can.caption_limit // 2 < can.length(posted["text"]) <= can.caption_limit

    def test_a_hostile_name_becomes_a_plain_one(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        for number, name in enumerate(HOSTILE):
            at.platform.send_file(place, out(name, "text/plain", b"words"), None, key=f"file {number}")
            (file,) = with_files(at, self.first_home, place)[-1]["files"]
            assert 0 < len(file["name"]) <= 150
            assert file["name"].isprintable()
            assert not set(file["name"]) & set('/\\"')
            assert file["sha256"] == hashlib.sha256(b"words").hexdigest()

        assert len(with_files(at, self.first_home, place)) == len(HOSTILE)

    def test_a_file_without_an_answer_can_be_reconciled(self, at: PlatformHarness, home: Place) -> None:
        place, file = self.open(at, home), out("plot.png", "image/png", PICTURE)
        at.arm("accept_then_reset")
        with pytest.raises(Ambiguous):
            at.platform.send_file(place, file, Part("A plot"), key="a")

        (message,) = with_files(at, home, place)
        can = at.platform.capabilities
        if can.readback:
            assert at.platform.find_message(place, key="a") == message["id"]
            assert at.platform.find_message(place, key="b") is None
        if can.key:
            assert at.platform.send_file(place, file, Part("A plot"), key="a") == message["id"]
            assert len(with_files(at, home, place)) == 1

    def test_a_broken_or_refused_send_posts_nothing(self, at: PlatformHarness) -> None:
        place, file = self.open(at, self.first_home), out("plot.png", "image/png", PICTURE)
        for kind, error in {"forbidden": Rejected, "rate_limit": RateLimited, "reset": (Ambiguous, NotSent)}.items():
            at.arm(kind, count=20, seconds=77)
            with pytest.raises(PlatformError) as raised:
                at.platform.send_file(place, file, None, key=kind)
            assert isinstance(raised.value, error)  # type: ignore[arg-type]  # one class or several
            assert not [secret for secret in at.secrets.values.values() if secret in str(raised.value)]
            at.arm(kind, count=0)

        assert with_files(at, self.first_home, place) == []

    def test_a_platform_that_is_down_got_no_file(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        at.simulator.stop()

        with pytest.raises(NotSent):
            at.platform.send_file(place, out("plot.png", "image/png", PICTURE), None, key="a")

    def test_limits_of_files_are_known(self, at: PlatformHarness) -> None:
        can = at.platform.capabilities
        assert can.file_limit >= can.picture_limit > 0
        assert can.caption_limit > 0


class Canary(HttpServer):
    """A server beside the platform, which must not be asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(self._answer)

    def _answer(self, request: Request) -> Response:
        self.asked.append(request.path)
        return Response(200, LONG)


@contextmanager
def canary() -> Iterator[Canary]:
    with Canary() as server:
        yield server


def _pointed_at(body: bytes, url: str) -> bytes:
    """A JSON answer with all addresses in it on another server."""
    try:
        json.loads(body)
    except ValueError:
        return body
    return re.sub(rb"https?://[^/\"]+", url.encode(), body)


def with_files(at: PlatformHarness, home: Place, place: Place) -> list[dict[str, Any]]:
    return [message for message in at.posted(home, place) if message.get("files")]


def digests(message: dict[str, Any]) -> list[str]:
    return [file["sha256"] for file in message["files"]]
