"""What errors of WhatsApp mean, and what the adapter knows without asking."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from shared.domain.routes import Place
from shared.errors import (
    Ambiguous,
    ForeignChat,
    NotSent,
    PlaceGone,
    PlatformError,
    RateLimited,
    Rejected,
    ThreadRefused,
)
from shared.platforms.whatsapp.adapter import WhatsApp
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer, Request, Response, json_response

HOME = Place("whatsapp", "15550007001")
SECRETS = {
    "whatsapp/access_token": "EAAtoken",
    "whatsapp/app_secret": "secret",
    "whatsapp/verify_token": "verify",
    "whatsapp/phone_number_id": "1065",
}


@contextmanager
def adapter(answer: Response, secrets: dict[str, str] | None = None) -> Iterator[tuple[WhatsApp, HttpServer]]:
    with HttpServer(lambda _: answer) as server:
        settings = Settings("h", "s", "q", platform_urls={"whatsapp": {"api": f"{server.url}/v23.0"}})
        made = WhatsApp(settings, FakeSecrets(SECRETS if secrets is None else secrets))
        yield made, server
        made.close()


def refused(code: int, status: int = 400, **more: Any) -> Response:
    return json_response({"error": {"message": "no", "type": "OAuthException", "code": code, **more}}, status)


def error_of(answer: Response) -> PlatformError:
    with adapter(answer) as (whatsapp, _), pytest.raises(PlatformError) as raised:
        whatsapp.send(HOME, Part("hello"), key="k")
    return raised.value


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (refused(131047), Rejected, "Write to it first"),
        (refused(131026), PlaceGone, "cannot deliver"),
        (refused(190, 401), Rejected, "access token"),
        (refused(190, 401, error_subcode=463), Rejected, "has expired"),
        (refused(190, 401, error_subcode=467), Rejected, "was revoked"),
        (refused(100), Rejected, "phone_number_id"),
        (refused(368), Rejected, "violation of its policies"),
        (refused(10, 403), Rejected, "permission"),
        (refused(294, 403), Rejected, "permission"),
        (refused(131009), Rejected, "131009"),
        (refused(131000, 500), Ambiguous, "500"),
        (refused(131016), Ambiguous, "400"),
        (refused(2, 503), Ambiguous, "503"),
        (json_response({"error": "odd"}, 400), Ambiguous, "400"),
        (json_response({"messages": []}), Ambiguous, "could not be read"),
    ],
)
def test_an_error_says_what_is_known_and_what_to_do(answer: Response, kind: type[PlatformError], says: str) -> None:
    error = error_of(answer)

    assert type(error) is kind
    assert says in str(error)


@pytest.mark.parametrize(("code", "status", "seconds"), [(131056, 400, 6), (130429, 429, 5), (80007, 400, 60)])
def test_a_limit_without_a_time_has_one(code: int, status: int, seconds: float) -> None:
    error = error_of(refused(code, status))

    assert isinstance(error, RateLimited)
    assert error.after == seconds


def test_a_message_is_posted_for_the_number_with_the_token() -> None:
    with adapter(json_response({"messages": [{"id": "wamid.X"}]})) as (whatsapp, server):
        assert whatsapp.send(HOME, Part("hello"), key="k") == "wamid.X"

    (call,) = server.requests
    assert (call.method, call.path) == ("POST", "/v23.0/1065/messages")
    assert call.headers["authorization"] == "Bearer EAAtoken"


@pytest.mark.parametrize("missing", ["access_token", "phone_number_id"])
def test_a_missing_setting_is_named(missing: str) -> None:
    secrets = {**SECRETS, f"whatsapp/{missing}": ""}
    with (
        adapter(json_response({}), secrets) as (whatsapp, server),
        pytest.raises(Rejected, match=missing),
    ):
        whatsapp.send(HOME, Part("hello"), key="k")
    assert server.requests == []


def test_a_chat_is_open_to_its_person_only() -> None:
    with adapter(json_response({})) as (whatsapp, server):
        assert whatsapp.resolve_chat(HOME, people=["15550007001"]).private
        with pytest.raises(ForeignChat):
            whatsapp.resolve_chat(HOME, people=["15550007002"])
        with pytest.raises(Rejected, match="digits"):
            whatsapp.resolve_chat(Place("whatsapp", "+15550007001"), people=["15550007001"])
        with pytest.raises(ThreadRefused):
            whatsapp.open_thread(HOME, "x", key="k", people=[])
        assert server.requests == []


def test_a_link_opens_the_chat_with_the_bot() -> None:
    with adapter(json_response({"display_phone_number": "+1 555-000-9001"})) as (whatsapp, server):
        assert [whatsapp.link(HOME) for _ in range(2)] == ["https://wa.me/15550009001"] * 2
        assert len(server.requests) == 1
    with adapter(refused(190, 401)) as (whatsapp, _):
        assert whatsapp.link(HOME) == "https://wa.me"


def test_a_pairing_link_carries_the_code() -> None:
    with adapter(json_response({"display_phone_number": "+1 555-000-9001"})) as (whatsapp, _):
        pairing = whatsapp.pairing("ABCD-EFGH")

    assert pairing.text == "/link ABCD-EFGH"
    assert pairing.url == "https://wa.me/15550009001?text=%2Flink+ABCD-EFGH"


def test_the_diagnosis_names_another_webhook() -> None:
    def number(request: Request) -> Response:
        assert "webhook_configuration" in request.query["fields"]
        configured = {"application": "https://old.example/hook", "phone_number": "https://other.example/hook"}
        return json_response({"display_phone_number": "+1", "webhook_configuration": configured})

    with HttpServer(number) as server:
        settings = Settings("h", "s", "q", platform_urls={"whatsapp": {"api": server.url}})
        whatsapp = WhatsApp(settings, FakeSecrets(SECRETS))
        found = whatsapp.diagnose(
            Place("whatsapp", "me"), webhook_url="https://a.example/webhooks/whatsapp", now=0, seconds=5
        )
        whatsapp.close()

    by_name = {finding.name: finding for finding in found}
    assert (by_name["webhook"].ok, by_name["home"].ok) == (False, False)
    assert "other.example" in by_name["webhook"].detail


def test_without_a_server_nothing_was_sent() -> None:
    settings = Settings("h", "s", "q", platform_urls={"whatsapp": {"api": "http://127.0.0.1:1"}})
    whatsapp = WhatsApp(settings, FakeSecrets(SECRETS))
    with pytest.raises(NotSent):
        whatsapp.send(HOME, Part("hello"), key="k")
    whatsapp.close()
