"""Events on the disk until the service has stored them."""

import asyncio
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.chats.signal import OWNER
from local.chats.signal import spool as spool_module
from local.chats.signal.spool import LEAST_WASTE, Spool
from local.chats.simulator import Simulator
from tests.local.chats.relays.under_test import relay_for, running, texts
from tests.support.webhook_receiver import WebhookReceiver

EVENTS = 600


def event(number: int) -> bytes:
    return f"event {number:04d}".encode().ljust(1000, b".")


def left_in(path: Path) -> list[bytes]:
    """What the next relay forwards."""
    is_filled = path.exists

    async def read() -> list[bytes]:
        spool, lines = Spool(path), list[bytes]()
        while is_filled():
            lines.append(await spool.first())
            spool.done()
        return lines

    return asyncio.run(read())


class Written:
    """Counts what a spool writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = self.flushes = 0
        write, flush = spool_module._write, os.fsync

        def count(file: int, content: bytes) -> int:
            self.bytes += len(content)
            return write(file, content)

        def count_flush(file: int) -> None:
            self.flushes += 1
            flush(file)

        monkeypatch.setattr(spool_module, "_write", count)
        monkeypatch.setattr(os, "fsync", count_flush)


def test_events_outlive_the_relay_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "state" / "events"

    async def fill() -> None:
        spool = Spool(path)
        for line in (b"one", b"two", b"three"):
            spool.add(line)
        assert await spool.first() == b"one"
        spool.done()

    asyncio.run(fill())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert left_in(path) == [b"two", b"three"]


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntwo\n")

    assert left_in(path) == [b"one", b"two"]


def test_an_event_is_written_once_however_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, path = Written(monkeypatch), tmp_path / "events"

    async def pass_through() -> None:
        spool = Spool(path)
        for number in range(EVENTS):
            spool.add(event(number))
        for number in range(EVENTS):
            assert await spool.first() == event(number)
            spool.done()

    asyncio.run(pass_through())

    assert written.bytes <= 2 * EVENTS * len(event(0))
    assert written.flushes <= EVENTS + 2


def test_a_spool_that_is_never_empty_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, path, waiting = Written(monkeypatch), tmp_path / "events", 20
    sizes = list[int]()

    async def pass_through() -> None:
        spool = Spool(path)
        for number in range(EVENTS):
            spool.add(event(number))
            if number >= waiting:
                spool.done()
            sizes.append(path.stat().st_size)

    asyncio.run(pass_through())

    assert max(sizes) < LEAST_WASTE + 2 * waiting * len(event(0)) < EVENTS * len(event(0))
    assert written.bytes <= 2 * EVENTS * len(event(0))
    assert left_in(path) == [event(number) for number in range(EVENTS - waiting, EVENTS)]


def test_a_file_that_cannot_be_written_anew_stays(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.with_suffix(".new").mkdir()

    async def pass_through() -> None:
        spool = Spool(path)
        for number in range(EVENTS):
            spool.add(event(number))
        for _ in range(EVENTS - 2):
            spool.done()

    asyncio.run(pass_through())
    assert left_in(path) == [event(EVENTS - 2), event(EVENTS - 1)]


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """A full disk: a write beyond this size writes what fits and fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_event_that_did_not_fit_damages_no_other(tmp_path: Path) -> None:
    path = tmp_path / "events"

    async def fill() -> None:
        spool = Spool(path)
        spool.add(b"one")
        with files_end_at(len(b"one\ntw")), pytest.raises(OSError, match="large"):
            spool.add(b"two")
        assert path.read_bytes() == b"one\ntw"
        spool.add(b"three")
        assert path.read_bytes() == b"one\ntwo\nthree\n", "it was kept in memory"
        spool.done()
        assert await spool.first() == b"two"

    asyncio.run(fill())

    assert left_in(path) == [b"two", b"three"]


def test_events_that_did_not_fit_are_done_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "events"

    async def fill() -> None:
        spool = Spool(path)
        spool.add(b"one")
        with files_end_at(len(b"one\n")):
            with pytest.raises(OSError, match="large"):
                spool.add(b"two")
            with pytest.raises(OSError, match="large"):
                spool.done()
            with pytest.raises(OSError, match="large"):
                spool.add(b"three")
        assert path.read_bytes() == b"one\n"
        spool.done()

    asyncio.run(fill())

    assert left_in(path) == [b"three"]


def test_a_torn_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntw")

    async def go_on() -> None:
        spool = Spool(path)
        spool.add(b"three")
        assert await spool.first() == b"one"
        spool.done()

    asyncio.run(go_on())

    assert left_in(path) == [b"three"]


def test_a_full_disk_keeps_what_is_done_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events"

    async def fill() -> None:
        spool = Spool(path)
        for line in (b"one", b"two"):
            spool.add(line)
        with files_end_at(2), pytest.raises(OSError, match="large"):
            spool.done()
        assert await spool.first() == b"two"
        spool.add(b"three")

    asyncio.run(fill())

    assert list(tmp_path.iterdir()) == [path]
    assert left_in(path) == [b"two", b"three"]


def test_an_event_that_cannot_be_kept_is_forwarded(
    simulator: Simulator, receiver: WebhookReceiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with running(relay_for("signal", simulator, receiver.url, spool=tmp_path / "file" / "events")):
        for text in ("one", "two"):
            simulator.say("signal", OWNER, text)
        assert texts(receiver.accepted(2)) == ["one", "two"]

    assert "the spool cannot be written" in caplog.text


def test_an_empty_spool_has_no_file(tmp_path: Path) -> None:
    path = tmp_path / "events"

    async def empty() -> None:
        spool = Spool(path)
        spool.add(b"one")
        assert path.read_bytes() == b"one\n"
        spool.done()
        waiting = asyncio.ensure_future(spool.first())
        await asyncio.sleep(0)
        assert not waiting.done()
        spool.add(b"two")
        assert await waiting == b"two"
        spool.done()

    asyncio.run(empty())

    assert list(tmp_path.iterdir()) == []
