"""What the set-up of Signal says of the daemon and the account."""

from typing import Any

import pytest

from local.chats.signal import ACCOUNT
from shared.errors import Rejected
from shared.platforms.set_up import Way
from shared.platforms.signal import SPEC
from shared.platforms.signal.set_up import SignalSetUp
from tests.support.servers import HttpServer, Request, Response, json_response

PROFILES: dict[str, Any] = {
    "Calm Bot, ": [{"profile": {"givenName": "Calm", "familyName": "Bot"}}],
    "Calm, ": [{"profile": {"givenName": "Calm", "familyName": None}}],
    "": [],
}


def daemon(contacts: Any, accounts: Any = ({"number": ACCOUNT},)) -> HttpServer:
    def answer(request: Request) -> Response:
        found = {"listAccounts": list(accounts), "listContacts": contacts}[request.json["method"]]
        return json_response(found if isinstance(found, dict) else {"result": found})

    return HttpServer(answer)


def said(server: HttpServer) -> str:
    return SignalSetUp().check("signal/account", {"signal/account": ACCOUNT}, Way(server.url, SPEC.link_url)).said


@pytest.mark.parametrize(("name", "contacts"), PROFILES.items())
def test_the_bot_is_shown_with_its_name_and_number(name: str, contacts: Any) -> None:
    with daemon(contacts) as server:
        assert said(server) == f"Your bot is {name}{ACCOUNT}."


def test_a_name_that_cannot_be_read_stops_nothing() -> None:
    with daemon({"error": {"code": -32601, "message": "Method not implemented"}}) as server:
        assert said(server) == f"Your bot is {ACCOUNT}."


def test_an_account_that_the_daemon_does_not_have_is_refused() -> None:
    with daemon([], accounts=[{"number": "+15550001234"}]) as server, pytest.raises(Rejected, match="Register or link"):
        said(server)


def test_a_daemon_of_one_account_is_refused_with_what_to_do() -> None:
    refused = json_response({"error": {"code": -32601, "message": "Method not implemented"}})
    with HttpServer(lambda _: refused) as server, pytest.raises(Rejected, match="without -a"):
        said(server)


def test_a_daemon_that_does_not_run_is_named_with_how_to_start_it() -> None:
    with daemon([]) as server:
        address = server.url.removeprefix("http://")
    with pytest.raises(
        Rejected, match=f"did not answer at http://{address}. Start it: signal-cli daemon --http {address}"
    ):
        said(server)


def test_the_steps_lead_to_a_linked_account_and_a_daemon() -> None:
    steps = "\n".join(SignalSetUp().steps(Way("http://127.0.0.1:9999", SPEC.link_url)))
    for word in ("signal-cli link", "register", "daemon --http 127.0.0.1:9999 --receive-mode on-connection"):
        assert word in steps
