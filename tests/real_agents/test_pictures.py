"""A picture from the chat reaches the model of the real agents, and their tools can read the file."""

import base64
import hashlib
import json
import struct
import zlib

import pytest

from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner

pytestmark = pytest.mark.agents


def _png(width: int, height: int) -> bytes:
    """A picture in one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x20\x60\xa0" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PNG = _png(64, 48)


@pytest.mark.parametrize("agent", NAMES)
def test_the_model_is_sent_the_picture_and_a_tool_reads_the_file(
    agent: str, laptop: Home, user: ApiUser, model: FakeModel
) -> None:
    begun = begin_in_terminal(laptop, agent, "hello")
    thread = Thread(user, f"{agent} looks")
    data = base64.b64encode(PNG).decode()
    with runner(laptop, user):
        source = f"{agent}:{begun.native_id}"
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", thread.title, "--json")
        thread.say("what is on it?", files=[{"name": "board.png", "type": "image/png", "data": data}])
        call = model.asked("what is on it?", within=60)
        assert data in json.dumps(call.body)
        (path,) = laptop.path.glob(".local/state/handoff/runner/files/*/*.png")
        assert path.read_bytes() == PNG
        assert str(path) in call.heard

        thread.say(f"run!: sha256sum {path} > digest.txt")
        thread.press("Yes")
        thread.shows("The tool said")
    assert (laptop.project / "digest.txt").read_text().startswith(hashlib.sha256(PNG).hexdigest())
