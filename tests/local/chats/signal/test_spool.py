"""Events on the disk until the service has stored them."""

import asyncio
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.chats.signal import OWNER
from local.chats.signal.spool import Spool
from local.chats.simulator import Simulator
from tests.local.chats.relays.under_test import relay_for, running, texts
from tests.support.webhook_receiver import WebhookReceiver


def first_of(path: Path) -> bytes:
    async def read() -> bytes:
        return await Spool(path).first()

    return asyncio.run(read())


def test_events_outlive_the_relay_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "state" / "events"

    async def fill() -> None:
        spool = Spool(path)
        for line in (b"one", b"two", b"three"):
            spool.add(line)
        assert await spool.first() == b"one"
        spool.done()

    asyncio.run(fill())

    assert first_of(path) == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
        assert path.read_bytes() == b"one\nthree\n"
        spool.done()
        assert await spool.first() == b"two", "it was kept in memory"

    asyncio.run(fill())

    assert path.read_bytes() == b"two\nthree\n"


def test_a_torn_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntw")

    async def go_on() -> None:
        spool = Spool(path)
        spool.add(b"three")
        assert await spool.first() == b"one"
        spool.done()

    asyncio.run(go_on())

    assert path.read_bytes() == b"three\n"


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

    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert list(tmp_path.iterdir()) == [path]


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
