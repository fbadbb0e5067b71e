"""Files that a machine's agent sends: once, as on each platform files are, with the rest of a long caption as text."""

import hashlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.journeys.test_files import CASES, PNG, engines
from tests.support.api_user import ApiUser
from tests.support.http_machine import Machine, MachineThread, MachineTurn
from tests.support.platform_cases import PLATFORMS
from tests.support.waiting import eventually

__all__ = ["engines"]
CAPTION = "\n".join(f"Line {number} about what the plot shows." for number in range(200))


def store(user: ApiUser, session_id: str, content: bytes, name: str, media_type: str) -> str:
    """Upload a file as a runner does; returns its id."""
    about = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "type": media_type, "name": name}
    stored = user.http.post(f"/sessions/{session_id}/files", json=about).raise_for_status().json()
    if upload := stored["upload"]:
        httpx.put(upload["url"], headers=upload["headers"], content=content).raise_for_status()
    return str(stored["id"])


def sent(turn: MachineTurn, *files: dict[str, Any]) -> list[str]:
    """Report the files until each is decided; their states."""

    def look() -> list[str] | None:
        states = [one["state"] for one in turn.report(send=list(files))["sent"]]
        return states if "waiting" not in states else None

    return eventually(look, within=60)


def posted(thread: MachineThread) -> list[tuple[str, int]]:
    messages = [message for message in thread.messages() if message["from"] == "bot"]
    return [(file["sha256"], file["size"]) for message in messages for file in message.get("files") or []]


@pytest.mark.parametrize(("platform", "engine"), CASES)
def test_files_of_the_agent_arrive_once(engines: Callable[[str], ApiUser], platform: str, engine: str) -> None:
    user = engines(engine)
    machine = Machine(user)
    thread = MachineThread(user, machine, platform)
    thread.say("draw it")
    turn = machine.claim(thread.session_id).begin()
    plot = store(user, thread.session_id, PNG, "plot.png", "image/png")
    table = store(user, thread.session_id, b"a,b\n" * 1000, "table.csv", "text/csv")

    files = [{"n": 1, "file": plot, "caption": CAPTION, "path": "plot.png"}, {"n": 2, "file": table}]
    assert sent(turn, *files) == ["sent", "sent"]
    assert sent(turn, *files) == ["sent", "sent"], "a repeat sends nothing"
    assert posted(thread) == [(plot, len(PNG)), (table, 4000)]
    assert "Line 199 about what the plot shows." in "\n".join(thread.bot_texts())
    turn.reply("Here it is").raise_for_status()
    thread.wait_for("Here it is")
    assert turn.post("events", seq=99, send=[{"n": 3, "file": plot}]).json()["code"] == "ended"
    assert len(posted(thread)) == 2


@pytest.mark.tier("deep")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_doubtful_file_is_sent_again_only_with_a_mark(
    engines: Callable[[str], ApiUser],
    platform: str,
) -> None:
    """Where the platform does not know the key of a send, nor can be asked, there are two, the second marked."""
    user = engines("functions")
    machine = Machine(user)
    thread = MachineThread(user, machine, platform)
    thread.say("draw it")
    turn = machine.claim(thread.session_id).begin()
    plot = store(user, thread.session_id, PNG, "plot.png", "image/png")
    user.service.simulator.arm(platform, "accept_then_reset", on="send")
    assert sent(turn, {"n": 1, "file": plot, "caption": "The plot."}) == ["sent"]
    count = 2 if platform in {"telegram", "signal"} else 1
    assert posted(thread) == [(plot, len(PNG))] * count
    assert len([text for text in thread.bot_texts("The plot.") if "Sent again" in text]) == count - 1
    turn.reply("Here it is").raise_for_status()
    thread.wait_for("Here it is")
