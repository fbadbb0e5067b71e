"""The simulated daemon of signal-cli, with plain HTTP."""

from typing import Any

import httpx
import pytest

from local.chats.signal import ACCOUNT, GROUP, OWNER
from local.chats.simulator import Simulator
from shared.platforms.signal.inbound import group_of_chat


def rpc(simulator: Simulator, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": method, "params": {"account": ACCOUNT, **params}, "id": "7"}
    answer = httpx.post(f"{simulator.api_url('signal')}/api/v1/rpc", json=body)
    assert (answer.status_code, answer.json()["id"]) == (200, "7")
    found: dict[str, Any] = answer.json()
    return found


def texts(simulator: Simulator, chat_id: str) -> list[str]:
    chats = simulator.state()["platforms"]["signal"]["chats"]
    return [message["text"] for chat in chats if chat["id"] == chat_id for message in chat["messages"]]


def test_a_message_is_sent_and_edited_by_its_time(simulator: Simulator) -> None:
    sent = rpc(simulator, "send", recipient=[OWNER], message="hello")["result"]
    assert [result["type"] for result in sent["results"]] == ["SUCCESS"]

    rpc(simulator, "send", recipient=[OWNER], message="good bye", editTimestamp=sent["timestamp"])
    rpc(simulator, "send", recipient=[OWNER], message="unseen", editTimestamp=1)

    assert texts(simulator, OWNER) == ["good bye"]


def test_a_group_is_named_by_its_own_id(simulator: Simulator) -> None:
    group = group_of_chat(GROUP)
    (found,) = rpc(simulator, "listGroups", groupId=[group])["result"]
    assert (found["id"], found["isMember"], len(found["members"])) == (group, True, 2)

    rpc(simulator, "send", groupId=group, message="hello")

    assert texts(simulator, GROUP) == ["hello"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("send", {"account": "+1", "recipient": [OWNER], "message": "x"}, -32602),
        ("send", {"recipient": ["unknown"], "message": "x"}, -1),
        ("send", {"recipient": [OWNER]}, -1),
        ("send", {"message": "x"}, -1),
        ("sing", {}, -32601),
    ],
)
def test_what_the_daemon_refuses(simulator: Simulator, method: str, params: dict[str, Any], code: int) -> None:
    assert rpc(simulator, method, **params)["error"]["code"] == code


def test_a_rate_limit_says_how_long(simulator: Simulator) -> None:
    simulator.arm("signal", "rate_limit", seconds=60)

    error = rpc(simulator, "send", recipient=[OWNER], message="x")["error"]

    assert error["code"] == -5
    assert error["data"]["response"]["results"][0]["retryAfterSeconds"] == 60


def test_the_daemon_answers_a_check(simulator: Simulator) -> None:
    assert httpx.get(f"{simulator.api_url('signal')}/api/v1/check").status_code == 200
