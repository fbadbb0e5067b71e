"""Calls to the JSON-RPC endpoint of signal-cli's daemon, with its errors as PlatformErrors. Imported on the first call."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from shared.errors import Ambiguous, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import Shape, fits, retry_after
from shared.platforms.http_api import HttpApi, Lost

_SECONDS = 10.0
_RESULTS = [{"type": str}]
_SENT = {"timestamp": int, "results?": _RESULTS}
_GROUP = {"id": str, "name?": (str, type(None)), "isMember": bool, "members": [{"uuid?": (str, type(None))}]}
# What is read of the result of each method.
_SHAPES: Mapping[str, Shape] = {
    "send": _SENT,
    "sendTyping": None,
    "listAccounts": [{"number": str}],
    "listGroups": [_GROUP],
    "listContacts": [{"profile?": ({"givenName?": str | None, "familyName?": str | None}, type(None))}],
    "getUserStatus": [{"uuid?": (str, type(None)), "isRegistered": bool}],
}
_CHANGES = frozenset({"send"})
_REFUSAL = {"error": {"code": int, "message": str}}
_LIMITED = -5
_NO_METHOD = -32601
_BAD_ACCOUNT = frozenset({-1, -32602})
_LOST = frozenset({-3, -32603})
"""Broken connections and unexpected errors of the daemon: the message may have been sent."""


class Api(HttpApi):
    """One account of one daemon."""

    server = "The daemon of signal-cli"

    def __init__(self, url: str, account: Callable[[], str]) -> None:
        super().__init__(url, trust_env=False)  # it is on this machine or in its network: no proxy leads to it
        self._account = account

    def send(self, to: Mapping[str, Any], text: str, *, edit: int | None = None) -> int:
        """Send a message, or with `edit` replace the one of this time; returns its time, which is its id."""
        more = {"editTimestamp": edit} if edit is not None else {}
        sent = self.ask("send", {**to, "message": text, **more})
        results = sent.get("results", [])
        if results and not any(result["type"] == "SUCCESS" for result in results):
            raise _undelivered(results)
        return int(sent["timestamp"])

    def ask(self, method: str, params: Mapping[str, Any] | None = None, *, seconds: float = _SECONDS) -> Any:
        """One method for the account; returns its result, which is of its shape."""
        account = {} if method == "listAccounts" else {"account": self._account()}
        body = {"jsonrpc": "2.0", "method": method, "params": {**account, **(params or {})}, "id": uuid.uuid4().hex}
        shape, changes = {"result": _SHAPES[method]}, method in _CHANGES
        return self.call("POST", "/api/v1/rpc", shape, seconds=seconds, changes=changes, json=body)["result"]

    def refusal(self, response: httpx.Response, said: Any, lost: Lost) -> PlatformError | None:
        if not response.is_success or not fits(said, _REFUSAL):
            return None
        code, data = said["error"]["code"], said["error"].get("data")
        results = data["response"]["results"] if fits(data, {"response": {"results": _RESULTS}}) else []
        if code == _LIMITED:
            return _limited(results)
        if code in _LOST:
            return lost("signal-cli did not confirm the call")
        if code in _BAD_ACCOUNT and "account" in said["error"]["message"].lower():
            return Rejected(
                "signal-cli does not know the account. Compare signal/account with `signal-cli listAccounts`"
            )
        if code == _NO_METHOD:
            return Rejected("signal-cli's daemon is too old, or serves one account only. Start it without -a")
        return _undelivered(results) if results else Rejected(f"signal-cli refuses it with error {code}")


def _undelivered(results: Sequence[Mapping[str, Any]]) -> PlatformError:
    """Why a message reached none of its recipients. If one may get it with a retry, or may have it, it is not refused."""
    kinds = {result["type"] for result in results}
    if "NETWORK_FAILURE" in kinds:
        return Ambiguous("signal-cli cannot reach Signal")
    if "RATE_LIMIT_FAILURE" in kinds:
        return _limited(results)
    if kinds == {"UNREGISTERED_FAILURE"}:
        return PlaceGone("Signal could not deliver it: this person is no longer on Signal")
    return Rejected("Signal could not deliver it: the daemon has the reason in its log")


def _limited(results: Sequence[Mapping[str, Any]]) -> RateLimited:
    """For the longest wait that any of the recipients asks for."""
    waits = [wait for result in results if type(wait := result.get("retryAfterSeconds")) is int]
    return RateLimited(retry_after(max(waits, default=None)))
