"""Events on the disk until the service has stored them."""

import asyncio
import stat
from pathlib import Path

from local.chats.signal.spool import Spool


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
