"""The simulated Slack with slack-sdk as its client."""

import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from local.chats.simulator import Simulator
from tests.support.webhook_receiver import WebhookReceiver

HOME, DIRECT = "C0HOME", "D0OWNER"


@pytest.fixture
def client(simulator: Simulator) -> WebClient:
    return WebClient(simulator.secrets["slack/bot_token"], base_url=simulator.api_url("slack"), retry_handlers=[])


def chat_state(simulator: Simulator, chat: str) -> dict[str, Any]:
    return next(c for c in simulator.state()["platforms"]["slack"]["chats"] if c["id"] == chat)


def test_auth_test_identifies_the_bot(client: WebClient) -> None:
    me = client.auth_test()
    assert (me["user_id"], me["bot_id"], me["team_id"]) == ("U9001", "B0HANDOFF", "T0HANDOFF")


@pytest.mark.parametrize("channel", [HOME, DIRECT])
def test_the_first_reply_creates_the_thread(simulator: Simulator, client: WebClient, channel: str) -> None:
    seed = client.chat_postMessage(channel=channel, text="Handoff — tea")
    assert chat_state(simulator, channel)["threads"] == []
    reply = client.chat_postMessage(channel=channel, thread_ts=seed["ts"], markdown_text="**Here** I am")
    assert reply["message"]["thread_ts"] == seed["ts"]
    (thread,) = chat_state(simulator, channel)["threads"]
    assert (thread["id"], thread["title"]) == (seed["ts"], "Handoff — tea")
    assert [m["text"] for m in thread["messages"]] == ["**Here** I am"]
    assert [m["text"] for m in chat_state(simulator, channel)["messages"]] == ["Handoff — tea"]


def test_metadata_is_returned_only_on_request(client: WebClient) -> None:
    metadata = {"event_type": "handoff", "event_payload": {"key": "abc"}}
    seed = client.chat_postMessage(channel=HOME, text="seed", metadata=metadata)
    client.chat_postMessage(channel=HOME, text="reply", thread_ts=seed["ts"], metadata=metadata)
    (plain,) = client.conversations_history(channel=HOME)["messages"]
    assert "metadata" not in plain
    (parent,) = client.conversations_history(channel=HOME, include_all_metadata=True)["messages"]
    assert (parent["metadata"], parent["reply_count"], parent["thread_ts"]) == (metadata, 1, seed["ts"])
    replies = client.conversations_replies(channel=HOME, ts=seed["ts"], include_all_metadata=True)["messages"]
    assert [(m["text"], m["metadata"]["event_payload"]["key"]) for m in replies] == [("seed", "abc"), ("reply", "abc")]


def test_history_is_newest_first_and_paged(client: WebClient) -> None:
    for number in range(5):
        client.chat_postMessage(channel=HOME, text=f"m{number}")
    pages = [[m["text"] for m in page["messages"]] for page in client.conversations_history(channel=HOME, limit=2)]
    assert pages == [["m4", "m3"], ["m2", "m1"], ["m0"]]


def test_a_reply_to_a_deleted_message_is_in_the_channel(simulator: Simulator, client: WebClient) -> None:
    seed = client.chat_postMessage(channel=HOME, text="seed")
    client.chat_delete(channel=HOME, ts=seed["ts"])
    answer = client.chat_postMessage(channel=HOME, text="reply", thread_ts=seed["ts"])
    assert "thread_ts" not in answer["message"]
    assert [m["text"] for m in chat_state(simulator, HOME)["messages"]] == ["reply"]


def test_a_removed_thread_removes_its_parent_message(simulator: Simulator, client: WebClient) -> None:
    seed = client.chat_postMessage(channel=HOME, text="seed")
    client.chat_postMessage(channel=HOME, text="reply", thread_ts=seed["ts"])
    simulator.remove("slack", HOME, seed["ts"])
    assert chat_state(simulator, HOME)["threads"] == []
    assert "thread_ts" not in client.chat_postMessage(channel=HOME, text="late", thread_ts=seed["ts"])["message"]
    simulator.remove("slack", HOME)
    with pytest.raises(SlackApiError, match="channel_not_found"):
        client.chat_postMessage(channel=HOME, text="x")


def test_direct_messages_open_by_user_id(client: WebClient) -> None:
    assert client.conversations_open(users="U7001")["channel"]["id"] == DIRECT
    opened = client.conversations_open(users="U7002")["channel"]["id"]
    assert client.conversations_info(channel=opened)["channel"]["is_im"]
    assert client.chat_postMessage(channel="U7002", text="hello")["channel"] == opened
    assert client.conversations_members(channel=HOME)["members"] == ["U7001", "U7002", "U9001"]
    assert client.conversations_info(channel=HOME)["channel"]["is_member"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: c.chat_postMessage(channel="C0NOPE", text="x"), "channel_not_found"),
        (lambda c: c.api_call("chat.postMessage", json={"channel": HOME, "text": " "}), "no_text"),
        (lambda c: c.chat_postMessage(channel=HOME, markdown_text="x" * 12_001), "msg_too_long"),
        (lambda c: c.chat_postMessage(channel=HOME, markdown_text="x", text="y"), "markdown_text_conflict"),
        (lambda c: c.chat_postMessage(channel=HOME, text="x", thread_ts="17"), "invalid_thread_ts"),
        (lambda c: c.chat_postMessage(channel=HOME, text="x", metadata={"event_type": "a"}), "invalid_metadata_format"),
        (lambda c: c.chat_update(channel=HOME, ts="1700000000.000001", text="x"), "message_not_found"),
        (lambda c: c.conversations_replies(channel=HOME, ts="1700000000.000001"), "thread_not_found"),
        (lambda c: c.conversations_history(channel=HOME, cursor="%"), "invalid_cursor"),
        (lambda c: c.api_call("chat.shout"), "unknown_method"),
        (lambda c: c.apps_connections_open(app_token=c.token), "not_allowed_token_type"),
        (lambda c: WebClient("xoxb-wrong", base_url=c.base_url).auth_test(), "invalid_auth"),
        (lambda c: WebClient(base_url=c.base_url).auth_test(), "not_authed"),
    ],
)
def test_errors_have_slacks_names(client: WebClient, call: Callable[[WebClient], Any], error: str) -> None:
    with pytest.raises(SlackApiError) as refused:
        call(client)
    assert refused.value.response["error"] == error


def test_long_markdown_is_rejected_and_long_text_cut(simulator: Simulator, client: WebClient) -> None:
    client.chat_postMessage(channel=HOME, markdown_text="x" * 12_000)
    client.chat_postMessage(channel=HOME, text="y" * 40_001)
    assert [len(m["text"]) for m in chat_state(simulator, HOME)["messages"]] == [12_000, 40_000]


def test_a_person_s_message_cannot_be_edited(simulator: Simulator, client: WebClient) -> None:
    ts = simulator.say("slack", HOME, "mine")
    with pytest.raises(SlackApiError) as refused:
        client.chat_update(channel=HOME, ts=ts, text="yours")
    assert refused.value.response["error"] == "cant_update_message"


def test_a_status_shows_typing_until_the_answer(simulator: Simulator, client: WebClient) -> None:
    def typing() -> list[str]:
        scene = json.loads(read_scene(simulator))
        return list(next(c for c in scene["platforms"]["slack"]["chats"] if c["id"] == HOME)["typing"])

    seed = client.chat_postMessage(channel=HOME, text="seed")
    client.assistant_threads_setStatus(channel_id=HOME, thread_ts=seed["ts"], status="is thinking…")
    assert typing() == [seed["ts"]]
    client.chat_postMessage(channel=HOME, thread_ts=seed["ts"], text="here")
    assert typing() == []


def read_scene(simulator: Simulator) -> str:
    with httpx.stream("GET", f"{simulator.url}/live", timeout=10) as stream:
        lines = stream.iter_lines()
        next(lines)
        return next(lines).removeprefix("data: ")


def test_a_rate_limit_has_retry_after(simulator: Simulator, client: WebClient) -> None:
    simulator.arm("slack", "rate_limit", seconds=30)
    with pytest.raises(SlackApiError) as limited:
        client.chat_postMessage(channel=HOME, text="x")
    response = limited.value.response
    assert (response.status_code, response["error"], response.headers["Retry-After"]) == (429, "ratelimited", "30")


def test_events_pass_slacks_signature_verifier(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    ts = simulator.say("slack", HOME, "a <b> & c", user="stranger")
    call = receiver.next()
    verifier = SignatureVerifier(simulator.secrets["slack/signing_secret"])
    assert call.path == "/webhooks/slack"
    assert verifier.is_valid_request(call.body, dict(call.headers))
    assert not verifier.is_valid_request(call.body + b" ", dict(call.headers))
    callback = call.json
    event = callback["event"]
    assert (callback["type"], callback["api_app_id"]) == ("event_callback", "A0HANDOFF")
    assert (event["type"], event["user"], event["channel"], event["ts"]) == ("message", "U7002", HOME, ts)
    assert (event["text"], event["channel_type"]) == ("a &lt;b&gt; &amp; c", "channel")
    assert "thread_ts" not in event


def test_a_reply_has_the_ts_of_its_thread(simulator: Simulator, client: WebClient, receiver: WebhookReceiver) -> None:
    seed = client.chat_postMessage(channel=DIRECT, text="seed")
    simulator.webhook_url = receiver.url
    simulator.say("slack", DIRECT, "go on", thread=seed["ts"])
    own, event = (receiver.next().json["event"] for _ in range(2))
    assert (own["bot_id"], own["text"]) == ("B0HANDOFF", "seed")
    assert (event["thread_ts"], event["channel_type"], event["parent_user_id"]) == (seed["ts"], "im", "U9001")


def test_a_mention_sends_two_events_for_one_message(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    simulator.say("slack", HOME, "@handoff_bot hello")
    events = [receiver.next().json for _ in range(2)]
    assert {e["event"]["type"] for e in events} == {"message", "app_mention"}
    assert len({e["event"]["ts"] for e in events}) == 1
    assert len({e["event_id"] for e in events}) == 2
    assert events[0]["event"]["text"] == "<@U9001> hello"


def test_a_failing_event_is_retried_three_times(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    receiver.answer(500, 503, 500, 500, 200)
    simulator.say("slack", HOME, "unlucky")
    calls = [receiver.next() for _ in range(4)]
    assert [c.headers.get("x-slack-retry-num") for c in calls] == [None, "1", "2", "3"]
    assert {c.headers.get("x-slack-retry-reason") for c in calls[1:]} == {"http_error"}
    assert len({c.json["event_id"] for c in calls}) == 1
    verifier = SignatureVerifier(simulator.secrets["slack/signing_secret"])
    assert all(verifier.is_valid_request(c.body, dict(c.headers)) for c in calls)
    simulator.say("slack", HOME, "lucky")
    assert receiver.next().json["event"]["text"] == "lucky"


def test_a_redelivery_has_slacks_headers(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    simulator.arm("slack", "redeliver", 2)
    simulator.say("slack", HOME, "again")
    calls = [receiver.next() for _ in range(3)]
    assert [c.headers.get("x-slack-retry-num") for c in calls] == [None, "1", "2"]
    assert len({c.json["event_id"] for c in calls}) == 1


class Listener:
    """Slack's Socket Mode client; records envelopes and acknowledges all but the next `unacknowledged` ones."""

    def __init__(self, simulator: Simulator) -> None:
        web = WebClient(base_url=simulator.api_url("slack"))
        # One worker: several would call the listeners in any order.
        token = simulator.secrets["slack/app_token"]
        self.client = SocketModeClient(app_token=token, web_client=web, concurrency=1)
        self.requests: list[SocketModeRequest] = []
        self.arrived = threading.Semaphore(0)
        self.unacknowledged = 0
        self.client.socket_mode_request_listeners.append(self._receive)
        self.client.connect()

    def _receive(self, client: BaseSocketModeClient, request: SocketModeRequest) -> None:
        self.requests.append(request)
        if self.unacknowledged:
            self.unacknowledged -= 1
        else:
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        self.arrived.release()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.arrived.acquire(timeout=20)


def test_socket_mode_resends_until_acknowledged(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    listener = Listener(simulator)
    try:
        for n in range(3):
            simulator.say("slack", HOME, f"m{n}")
        listener.wait(3)
        assert [r.payload["event"]["text"] for r in listener.requests] == ["m0", "m1", "m2"]
        listener.unacknowledged = 1
        simulator.say("slack", HOME, "unacknowledged")
        listener.wait(2)
        first, second = listener.requests[3:]
        assert first.envelope_id == second.envelope_id
        assert (first.retry_attempt, second.retry_attempt) == (0, 1)
        assert not receiver.unread  # an app with Socket Mode gets no webhooks
    finally:
        listener.client.close()


def test_socket_mode_keeps_events_during_a_reconnect(simulator: Simulator) -> None:
    listener = Listener(simulator)
    try:
        simulator.disconnect("slack")
        simulator.say("slack", HOME, "during the reconnect")
        listener.wait(1)
        assert listener.requests[0].payload["event"]["text"] == "during the reconnect"
    finally:
        listener.client.close()


def test_a_socket_needs_a_ticket(simulator: Simulator) -> None:
    assert httpx.get(f"{simulator.url}/slack/link?ticket=none").status_code == 401
