"""For each platform and kind of home: handoff, then a person's reply in the thread, answered there in the same session."""

import uuid
from typing import Any

import pytest

from tests.support.desk import Desk, until

HOMES = {
    "telegram private chat with topics": ("telegram", "7001"),
    "telegram forum": ("telegram", "-1001000000001"),
    "slack channel": ("slack", "C0HOME"),
    "slack direct message": ("slack", "D0OWNER"),
    "discord text channel": ("discord", "6001000000000000001"),
    "discord forum channel": ("discord", "6002000000000000002"),
}


@pytest.mark.parametrize("home", HOMES)
def test_a_reply_in_the_thread_is_answered_there_in_the_same_session(desk: Desk, home: str) -> None:
    platform, chat = HOMES[home]
    title = f"{platform} {uuid.uuid4().hex[:6]}"
    session_id = desk.session(count=6, title=title)

    done = desk.hand_over(session_id, platform, target=chat)

    assert (done["state"], done["error"], done["notice"]) == ("completed", None, None)
    (thread,) = desk.threads(title, platform)
    assert thread["chat"] == chat
    desk.service.simulator.say(platform, chat, "Where were we?", thread=thread["id"])
    until(lambda: len(_answers(desk, title, platform)) == 2)
    assert "Where were we?" in _answers(desk, title, platform)[-1]
    assert [m["content"] for m in desk.transcript(session_id)][:6] == [f"message {number}" for number in range(6)]
    assert desk.transcript(session_id)[8]["content"] == "Where were we?"


def test_a_plain_telegram_group_is_used_itself(desk: Desk) -> None:
    session_id = desk.session()
    epoch = desk.see(session_id)["epoch"]

    done = desk.hand_over(session_id, "telegram", target="-1002", replace=True, epoch=epoch)

    assert done["state"] == "completed"
    desk.service.simulator.say("telegram", "-1002", "in the group")
    until(lambda: "in the group" in [m["content"] for m in desk.transcript(session_id)])


def _answers(desk: Desk, title: str, platform: str) -> list[str]:
    found: list[dict[str, Any]] = desk.threads(title, platform)
    seeds = [f"**Handoff — {title}**", f"Handoff — {title}"]
    return [
        message["text"]
        for thread in found
        for message in thread["messages"]
        if message["from"] == "bot" and not any(message["text"].startswith(seed) for seed in seeds)
    ]
