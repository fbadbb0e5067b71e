"""The simulated homeserver, in the words of a real one."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from local.chats.matrix import CHAT
from local.chats.simulator import Simulator
from tests.support.webhook_receiver import WebhookReceiver

ROOM = CHAT.homes["owner"]
AT = f"/_matrix/client/v3/rooms/{quote(ROOM, safe='')}"


@pytest.fixture
def client(simulator: Simulator) -> httpx.Client:
    headers = {"Authorization": f"Bearer {simulator.secrets['matrix/bot_token']}"}
    return httpx.Client(base_url=simulator.api_url("matrix"), headers=headers, trust_env=False)


def send(client: httpx.Client, transaction: str, body: str = "hi", /, **content: Any) -> httpx.Response:
    return client.put(f"{AT}/send/m.room.message/{transaction}", json={"msgtype": "m.text", "body": body, **content})


def error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["errcode"]


def test_a_transaction_posts_once(client: httpx.Client, simulator: Simulator) -> None:
    first, again = send(client, "1").json(), send(client, "1").json()

    assert first == again
    assert send(client, "2").json() != first
    (room,) = [chat for chat in simulator.state()["platforms"]["matrix"]["chats"] if chat["id"] == ROOM]
    assert len(room["messages"]) == 2


def test_errors_are_those_of_synapse(client: httpx.Client) -> None:
    unknown = "/_matrix/client/v3/rooms/!nope"
    relation = {"m.relates_to": {"rel_type": "m.thread", "event_id": "$nope"}}

    assert error(send(client, "1", "x" * 66_000)) == (413, "M_TOO_LARGE")
    assert error(send(client, "2", "hi", **relation)) == (400, "M_UNKNOWN")
    assert error(client.get(f"{AT}/event/$nope")) == (404, "M_NOT_FOUND")
    assert error(client.get(f"{AT}/state/m.room.encryption/")) == (404, "M_NOT_FOUND")
    assert error(client.get(f"{unknown}/joined_members")) == (403, "M_FORBIDDEN")
    assert error(client.post(f"{unknown}/join", json={})) == (404, "M_UNKNOWN")
    assert error(httpx.get(f"{client.base_url}_matrix/client/v3/account/whoami")) == (401, "M_MISSING_TOKEN")


def test_a_refused_transaction_holds_back_the_next_until_it_is_taken() -> None:
    with WebhookReceiver() as receiver, Simulator(webhook_url=receiver.url, retry_scale=0.0) as simulator:
        receiver.answer(413, 413, 200)
        simulator.say("matrix", ROOM, "first")
        simulator.say("matrix", ROOM, "second")

        taken = receiver.received(4)
        assert [b"first" in one.body for one in taken] == [True, True, True, False]
        assert [one.path.rpartition("/")[2] for one in taken] == ["1", "1", "1", "2"]
        assert {one.method for one in taken} == {"PUT"}


def test_after_a_poll_events_are_synchronised_only(client: httpx.Client, simulator: Simulator) -> None:
    first = client.get("/_matrix/client/v3/sync").json()
    simulator.say("matrix", ROOM, "hi")

    answer = client.get("/_matrix/client/v3/sync", params={"since": first["next_batch"], "timeout": "5000"}).json()
    (event,) = answer["rooms"]["join"][ROOM]["timeline"]["events"]
    later = client.get("/_matrix/client/v3/sync", params={"since": answer["next_batch"], "timeout": "0"}).json()

    assert event["content"]["body"] == "hi"
    assert later["rooms"]["join"] == {}
