"""What errors of signal-cli mean."""

from typing import Any

import pytest

from local.chats.signal import ACCOUNT, GROUP, OWNER
from shared.domain.routes import Place
from shared.errors import Ambiguous, ForeignChat, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.signal.adapter import Signal
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer, Response, json_response

HOME = Place("signal", OWNER)
LIMITED = {"type": "RATE_LIMIT_FAILURE"}


def signal_at(server: HttpServer, account: str = ACCOUNT) -> Signal:
    settings = Settings("h", "s", "q", platform_urls={"signal": {"api": server.url}})
    return Signal(settings, FakeSecrets({"signal/account": account, "signal/relay_secret": "x"}))


def refused(code: int, message: str = "no", data: Any = None) -> Response:
    return json_response({"jsonrpc": "2.0", "error": {"code": code, "message": message, "data": data}, "id": "1"})


def sent(kind: str) -> Response:
    return json_response({"jsonrpc": "2.0", "result": {"timestamp": 1, "results": [{"type": kind}]}, "id": "1"})


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (refused(-1, "Specified account does not exist"), Rejected, "signal/account"),
        (refused(-32602, "Specified account does not exist"), Rejected, "signal/account"),
        (refused(-1, "Group not found"), Rejected, "-1"),
        (refused(-32603, "Something odd (AssertionError)"), Ambiguous, "did not confirm"),
        (refused(-4, "Untrusted Identity"), Rejected, "-4"),
        (refused(-3, "Failed to send message"), Ambiguous, "did not confirm"),
        (sent("UNREGISTERED_FAILURE"), PlaceGone, "no longer on Signal"),
        (sent("IDENTITY_FAILURE"), Rejected, "log"),
        (json_response({"error": "odd"}), Ambiguous, "could not be read"),
        (json_response({"result": {"timestamp": "1"}}), Ambiguous, "could not be read"),
    ],
)
def test_an_error_says_what_is_known(answer: Response, kind: type[PlatformError], says: str) -> None:
    with HttpServer(lambda _: answer) as server, pytest.raises(PlatformError) as raised:
        signal_at(server).send(HOME, Part("hello"), key="k")

    assert type(raised.value) is kind
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        (["NETWORK_FAILURE"], Ambiguous),
        (["UNREGISTERED_FAILURE", "NETWORK_FAILURE"], Ambiguous),
        (["IDENTITY_FAILURE", "RATE_LIMIT_FAILURE"], RateLimited),
        (["UNREGISTERED_FAILURE"], PlaceGone),
        (["UNREGISTERED_FAILURE", "IDENTITY_FAILURE"], Rejected),
    ],
)
def test_a_failure_of_the_daemons_network_is_no_refusal(kinds: list[str], kind: type[PlatformError]) -> None:
    """signal-cli reports it with the error of a wrong request, and the reason for each recipient."""
    data = {"response": {"timestamp": 1, "results": [{"type": one} for one in kinds]}}
    answer = refused(-1, "Failed to send message", data)
    with HttpServer(lambda _: answer) as server, pytest.raises(PlatformError) as raised:
        signal_at(server).send(HOME, Part("hello"), key="k")

    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        (
            {
                "response": {
                    "results": [{**LIMITED, "retryAfterSeconds": 60}, {**LIMITED, "retryAfterSeconds": 3600}, LIMITED]
                }
            },
            3600,
        ),
        ({"response": {"results": []}}, 5),
        (None, 5),
        ({"response": "odd"}, 5),
    ],
)
def test_a_rate_limit_says_how_long(data: Any, seconds: float) -> None:
    with HttpServer(lambda _: refused(-5, "limit", data)) as server, pytest.raises(RateLimited) as raised:
        signal_at(server).send(HOME, Part("hello"), key="k")

    assert raised.value.after == seconds


def test_a_group_is_open_to_its_members_only() -> None:
    def groups(request: Any) -> Response:
        wanted = request.json["params"]["groupId"][0]
        found = {"id": wanted, "isMember": True, "members": [{"uuid": OWNER}]}
        return json_response({"jsonrpc": "2.0", "result": [found], "id": "1"})

    with HttpServer(groups) as server:
        assert signal_at(server).resolve_chat(Place("signal", GROUP), people=[OWNER]).place.chat == GROUP
        with pytest.raises(ForeignChat):
            signal_at(server).resolve_chat(Place("signal", GROUP), people=["x"])
    with HttpServer(lambda _: json_response({"result": []})) as server, pytest.raises(PlaceGone):
        signal_at(server).resolve_chat(Place("signal", GROUP), people=[OWNER])


def test_a_person_finds_the_bot_by_its_number() -> None:
    paired = Signal(Settings("h", "s", "q"), FakeSecrets({"signal/account": ACCOUNT})).pairing("ABCD")
    unset = Signal(Settings("h", "s", "q"), FakeSecrets({})).pairing("ABCD")

    assert (paired.text, paired.url) == ("/link ABCD", f"https://signal.me/#p/{ACCOUNT}")
    assert (unset.text, unset.url) == ("/link ABCD", "")
