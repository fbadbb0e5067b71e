"""The simulated WhatsApp: its limits, its errors, and what it posts to the webhook."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from local.chats.simulator import Simulator
from local.chats.whatsapp import CHAT, PHONE_NUMBER_ID, WhatsAppOptions
from local.chats.whatsapp.wire.errors import GraphError
from local.chats.whatsapp.wire.limits import Limits
from tests.support.webhook_receiver import WebhookReceiver

OWNER = CHAT.people["owner"]


class Bot:
    """Calls the simulated API as any client would."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.url = f"{simulator.api_url('whatsapp')}/{PHONE_NUMBER_ID}"
        self.headers = {"Authorization": f"Bearer {simulator.secrets['whatsapp/access_token']}"}

    def send(self, **body: Any) -> httpx.Response:
        given = {"messaging_product": "whatsapp", "to": OWNER, "type": "text", "text": {"body": "hello"}, **body}
        return httpx.post(f"{self.url}/messages", json=given, headers=self.headers)

    def interactive(self, kind: str, action: dict[str, Any], text: str = "May I?") -> httpx.Response:
        return self.send(type="interactive", interactive={"type": kind, "body": {"text": text}, "action": action})

    def texts(self) -> list[str]:
        (chat,) = [c for c in self.simulator.state()["platforms"]["whatsapp"]["chats"] if c["id"] == OWNER]
        return [message["text"] for message in chat["messages"]]


def error_of(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture
def bot(simulator: Simulator) -> Bot:
    return Bot(simulator)


@pytest.fixture
def strict() -> Iterator[Bot]:
    """The limit per person as WhatsApp has it, and people who have not written yet."""
    options = WhatsAppOptions(burst=3, every=6.0, silent=True)
    with Simulator([replace(CHAT, options=options)]) as running:
        yield Bot(running)


def test_a_message_is_answered_with_its_id(bot: Bot) -> None:
    answer = bot.send().json()

    assert answer["contacts"] == [{"input": OWNER, "wa_id": OWNER}]
    assert answer["messages"][0]["id"].startswith("wamid.")
    assert bot.texts() == ["hello"]


def test_the_number_tells_its_name_and_webhook(bot: Bot, receiver: WebhookReceiver) -> None:
    bot.simulator.webhook_url = receiver.url

    number = httpx.get(bot.url, headers=bot.headers).json()

    assert number["webhook_configuration"] == {"application": f"{receiver.url}/webhooks/whatsapp"}
    assert {"display_phone_number", "verified_name", "id"} <= set(number)


def test_a_wrong_token_and_a_wrong_number_are_refused(bot: Bot) -> None:
    other = bot.url.replace(PHONE_NUMBER_ID, "1")
    assert error_of(httpx.post(f"{other}/messages", json={}, headers=bot.headers)) == (400, 100)
    assert error_of(httpx.get(bot.url, headers={"Authorization": "Bearer x"})) == (401, 190)
    assert bot.texts() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"messaging_product": None}, 100),
        ({"to": ""}, 100),
        ({"text": {"body": " "}}, 100),
        ({"text": {"body": "x" * 4097}}, 131009),
        ({"biz_opaque_callback_data": "x" * 513}, 131009),
        ({"type": "sticker"}, 131009),
        ({"to": "15550001234"}, 131026),
    ],
)
def test_an_invalid_message_is_refused(bot: Bot, body: dict[str, Any], code: int) -> None:
    assert error_of(bot.send(**body)) == (400, code)
    assert bot.texts() == []


def test_buttons_and_lists_have_limits(bot: Bot) -> None:
    def buttons(*titles: str) -> dict[str, Any]:
        return {"buttons": [{"type": "reply", "reply": {"id": title, "title": title}} for title in titles]}

    def rows(count: int, title: str = "Row {}") -> dict[str, Any]:
        made = [{"id": f"r{number}", "title": title.format(number)} for number in range(count)]
        return {"button": "Choose", "sections": [{"rows": made}]}

    assert bot.interactive("button", buttons("a", "b", "c")).is_success
    assert bot.interactive("list", rows(10), "x" * 4096).is_success
    for refused in (
        bot.interactive("button", buttons("a", "b", "c", "d")),
        bot.interactive("button", buttons("a", "a")),
        bot.interactive("button", buttons("x" * 21)),
        bot.interactive("button", buttons("a"), "x" * 1025),
        bot.interactive("list", rows(11)),
        bot.interactive("list", rows(2, "the same")),
        bot.interactive("list", rows(1, "x" * 25)),
        bot.interactive("poll", rows(1)),
    ):
        assert error_of(refused) == (400, 131009)


def test_a_silent_person_is_not_written_to(strict: Bot) -> None:
    assert error_of(strict.send()) == (400, 131047)

    strict.simulator.say("whatsapp", OWNER, "hi")

    assert strict.send().is_success
    assert strict.texts() == ["hi", "hello"]


def test_a_person_gets_a_burst_and_then_one_message_at_a_time(strict: Bot) -> None:
    strict.simulator.say("whatsapp", OWNER, "hi")

    assert [strict.send().status_code for _ in range(4)] == [200, 200, 200, 400]
    assert error_of(strict.send()) == (400, 131056)


def test_the_limits_end_with_time() -> None:
    now = [0.0]
    limits = Limits(WhatsAppOptions(burst=2, every=6.0), lambda: now[0])
    for _ in range(2):
        limits.sending("1")
    with pytest.raises(GraphError):
        limits.sending("1")
    limits.sending("2")

    now[0] += 6
    limits.sending("1")
    with pytest.raises(GraphError):
        limits.sending("1")
    now[0] += 24 * 3600
    with pytest.raises(GraphError) as silent:
        limits.sending("1")
    assert silent.value.code == 131047
    limits.heard("1")
    limits.sending("1")


def test_webhooks_are_signed_and_report_the_key(bot: Bot, receiver: WebhookReceiver) -> None:
    bot.simulator.webhook_url = receiver.url
    wamid = bot.send(biz_opaque_callback_data="s/t/0").json()["messages"][0]["id"]

    requests = [receiver.next(), receiver.next()]

    secret = bot.simulator.secrets["whatsapp/app_secret"].encode()
    statuses = []
    for request in requests:
        digest = hmac.new(secret, request.body, hashlib.sha256).hexdigest()
        assert request.headers["x-hub-signature-256"] == f"sha256={digest}"
        value = json.loads(request.body)["entry"][0]["changes"][0]["value"]
        assert value["metadata"]["phone_number_id"] == PHONE_NUMBER_ID
        statuses += value["statuses"]
    assert [status["status"] for status in statuses] == ["sent", "delivered"]
    assert {(status["id"], status["biz_opaque_callback_data"]) for status in statuses} == {(wamid, "s/t/0")}


def test_a_person_never_writes_twice_in_one_second(bot: Bot, receiver: WebhookReceiver) -> None:
    bot.simulator.webhook_url = receiver.url
    for _ in range(3):
        bot.simulator.say("whatsapp", OWNER, "hi")

    values = [json.loads(receiver.next().body)["entry"][0]["changes"][0]["value"] for _ in range(3)]

    seconds = [int(value["messages"][0]["timestamp"]) for value in values]
    assert seconds == sorted(set(seconds))
    assert values[0]["contacts"][0]["wa_id"] == OWNER
