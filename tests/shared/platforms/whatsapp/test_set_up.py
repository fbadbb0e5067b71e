"""Setting up a number: what is asked, checked, and left to do."""

import pytest

from shared.errors import Rejected
from shared.platforms.set_up import Way
from shared.platforms.whatsapp.set_up import APP_SECRET, NUMBER, TOKEN, VERIFY, WhatsAppSetUp
from tests.support.servers import HttpServer, Request, Response, json_response

SECRETS = {
    NUMBER: "106540352242922",
    TOKEN: "EAA" + "x" * 30,
    APP_SECRET: "5d41402abc4b2a76b9719d911017c592",
    VERIFY: "v" * 16,
}
HERE = "https://handoff.example/webhooks/whatsapp"


def number(request: Request) -> Response:
    if request.headers["authorization"] != f"Bearer {SECRETS[TOKEN]}":
        return json_response({"error": {"code": 190, "message": "no"}}, 401)
    configured = {"application": "https://old.example/hook"}
    shown = {"verified_name": "Handoff", "display_phone_number": "+1 555", "webhook_configuration": configured}
    return json_response(shown)


def test_the_number_and_its_token_are_tried_together() -> None:
    guide = WhatsAppSetUp()
    with HttpServer(number) as server:
        way = Way(server.url, "https://wa.me", HERE)

        assert guide.check(TOKEN, SECRETS, way).said == "Your bot is Handoff, +1 555."
        assert guide.check(NUMBER, {NUMBER: "1"}, way).said == ""
        assert guide.used_by(SECRETS, way) == "old.example"
        assert guide.used_by(SECRETS, Way(server.url, "", "https://old.example/hook")) == ""
        with pytest.raises(Rejected, match="access token"):
            guide.check(TOKEN, {**SECRETS, TOKEN: "another"}, way)


def test_every_secret_is_asked_for_or_generated() -> None:
    guide, way = WhatsAppSetUp(), Way("", "", HERE)

    asked = {secret.name: secret for secret in guide.asked(way)}
    assert {*asked, *guide.generated(way)} == set(SECRETS)
    assert all(secret.fits(SECRETS[name]) for name, secret in asked.items())
    assert not asked[NUMBER].fits("+1 555 000 9001")
    assert any("terms" in step for step in guide.steps(way))


def test_what_is_left_is_the_callback_url() -> None:
    left = " ".join(WhatsAppSetUp().connect(SECRETS, Way("", "", HERE)))
    assert f"callback URL {HERE}, and the verify token that you chose." in left
    assert SECRETS[VERIFY] not in left
    assert "messages" in left
    assert "--public-url" in " ".join(WhatsAppSetUp().connect(SECRETS, Way("", "")))
