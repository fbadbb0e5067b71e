"""What the relay of Matrix does beside what all relays do: gaps, invitations, its position."""

import json
from typing import Any

import pytest

from local.chats.matrix.relay import MatrixRelay
from local.chats.relays.base import Target
from local.chats.relays.webhook import Backoff
from tests.local.chats.relays.under_test import running
from tests.support.servers import HttpServer, Request, Response, json_response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver

ME, ROOM = "@handoff:chat.test", "!agents:chat.test"


def said(number: int, **more: Any) -> dict[str, Any]:
    content = {"msgtype": "m.text", "body": f"word {number}"}
    event = {"type": "m.room.message", "sender": "@olivia:chat.test", "event_id": f"${number}", "content": content}
    return {**event, "origin_server_ts": number, **more}


class Scripted(HttpServer):
    """A homeserver with a first, a second and perhaps a third sync; all later ones are without events."""

    def __init__(
        self,
        first: dict[str, Any],
        second: dict[str, Any],
        kept: dict[str, Any] | None = None,
        third: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(self._answer)
        self.syncs = {"": first, "s1": second, "s2": third or {}}
        self.kept = kept
        self.pages: dict[str, Any] = {}

    def _answer(self, request: Request) -> Response:
        name = request.path.rpartition("/")[2]
        if name == "whoami":
            return json_response({"user_id": ME})
        if name == "live.handoff.relay":
            return self._account_data(request)
        if name == "messages":
            return json_response(self.pages[request.query["from"]])
        since = request.query.get("since", "")
        position = int(since.removeprefix("s") or 0)
        return json_response({"next_batch": f"s{min(position + 1, 3)}", "rooms": self.syncs.get(since, {})})

    def _account_data(self, request: Request) -> Response:
        if request.method == "PUT":
            self.kept = json.loads(request.body)
        return json_response(self.kept) if self.kept else json_response({"errcode": "M_NOT_FOUND"}, 404)


def relay(server: HttpServer, webhook: WebhookReceiver) -> MatrixRelay:
    target = Target(webhook.url, server.url, {"matrix/bot_token": "t", "matrix/webhook_secret": "s"})
    return MatrixRelay(target, poll_seconds=0, pauses=lambda: Backoff(0.01, 0.05))


def bodies(requests: list[Request]) -> list[Any]:
    return [request.json["events"][0] for request in requests]


def timeline(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"join": {ROOM: {"timeline": {"events": list(events), **more}}}}


def test_a_gap_between_two_polls_is_filled() -> None:
    with Scripted({}, timeline(said(5), limited=True, prev_batch="p1")) as server, WebhookReceiver() as webhook:
        server.pages = {
            "p1": {"chunk": [said(4), said(3)], "end": "p2"},
            "p2": {"chunk": [said(2), said(1, type="m.reaction")], "end": "p3"},
            "p3": {"chunk": []},
        }
        with running(relay(server, webhook)):
            found = bodies(webhook.accepted(4))

    assert [event["event_id"] for event in found] == ["$2", "$3", "$4", "$5"]
    assert {event["room_id"] for event in found} == {ROOM}


def test_the_first_relay_begins_now_and_accepts_open_invitations() -> None:
    member = {"type": "m.room.member", "state_key": ME, "sender": "@olivia:chat.test"}
    invited = {"invite": {ROOM: {"invite_state": {"events": [{**member, "content": {"membership": "invite"}}]}}}}
    with (
        Scripted({**timeline(said(1)), **invited}, timeline(said(2))) as server,
        WebhookReceiver() as webhook,
        running(relay(server, webhook)),
    ):
        found = bodies(webhook.accepted(2))

    assert [event["type"] for event in found] == ["m.room.member", "m.room.message"]
    assert (found[0]["room_id"], found[1]["event_id"]) == (ROOM, "$2")


def member(number: int, membership: str, before: str = "") -> dict[str, Any]:
    unsigned = {"unsigned": {"prev_content": {"membership": before}}} if before else {}
    return said(number, type="m.room.member", state_key=ME, content={"membership": membership}, **unsigned)


ENTERED = [said(1), member(2, "invite"), said(3), member(4, "join", "invite"), said(5)]


def invitation() -> dict[str, Any]:
    return {"invite": {ROOM: {"invite_state": {"events": [member(2, "invite")]}}}}


@pytest.mark.parametrize(
    ("events", "heard"),
    [
        pytest.param(ENTERED, ["$3", "$5"], id="after the invitation"),
        pytest.param([*ENTERED, member(6, "join", "join"), said(7)], ["$3", "$5", "$7"], id="a new name"),
        pytest.param([said(1), member(2, "join"), said(3)], ["$3"], id="without an invitation"),
        pytest.param([said(1), member(2, "join", "join"), said(3)], ["$1", "$3"], id="only a new name"),
    ],
)
def test_the_history_of_a_room_that_the_bot_joins_is_not_forwarded(
    events: list[dict[str, Any]], heard: list[str]
) -> None:
    with (
        Scripted({}, invitation(), third=timeline(*events, limited=True, prev_batch="p1")) as server,
        WebhookReceiver() as webhook,
    ):
        server.pages = {"p1": {"chunk": []}}
        with running(relay(server, webhook)):
            _, *found = bodies(webhook.accepted(1 + len(heard)))

    assert [event["event_id"] for event in found] == heard


def test_what_was_said_after_an_old_invitation_is_not_forwarded() -> None:
    with (
        Scripted(invitation(), timeline(*ENTERED, limited=True, prev_batch="p1")) as server,
        WebhookReceiver() as webhook,
        running(relay(server, webhook)),
    ):
        _, *found = bodies(webhook.accepted(2))

    assert [event["event_id"] for event in found] == ["$5"]


def test_the_position_is_kept_after_the_webhook_took_what_was_before() -> None:
    with Scripted({}, timeline(said(1)), kept={"since": "s1"}) as server, WebhookReceiver() as webhook:
        webhook.answer(500)
        with running(relay(server, webhook)):
            webhook.received(2)
            assert server.kept == {"since": "s1"}
            webhook.answer(200)
            webhook.accepted(1)
            eventually(lambda: server.kept == {"since": "s2"})


def test_messages_of_the_bot_are_not_forwarded() -> None:
    with (
        Scripted({}, timeline(said(1, sender=ME), said(2))) as server,
        WebhookReceiver() as webhook,
        running(relay(server, webhook)),
    ):
        (event,) = bodies(webhook.accepted(1))

    assert event["event_id"] == "$2"
