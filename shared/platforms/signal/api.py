"""Calls to the JSON-RPC endpoint of signal-cli's daemon, with its errors as PlatformErrors. Imported on the first call."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import Shape, fits, retry_after

_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
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


class Api:
    """One account of one daemon. Every method blocks, raises only PlatformErrors, and may be called from several threads."""

    def __init__(self, url: str, account: Callable[[], str]) -> None:
        self._url, self._account = url.rstrip("/"), account
        # The daemon is on this machine or in its network: no proxy leads to it.
        self._http = httpx.Client(trust_env=False, verify=httpx.create_ssl_context())

    def send(self, to: Mapping[str, Any], text: str, *, edit: int | None = None) -> int:
        """Send a message, or with `edit` replace the one of this time; returns its time, which is its id."""
        more = {"editTimestamp": edit} if edit is not None else {}
        sent = self.call("send", {**to, "message": text, **more})
        results = sent.get("results", [])
        if results and not any(result["type"] == "SUCCESS" for result in results):
            raise _undelivered(results)
        return int(sent["timestamp"])

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, seconds: float = _SECONDS) -> Any:
        """One method for the account; returns its result, which is of its shape."""
        lost = Ambiguous if method in _CHANGES else NotSent
        account = {} if method == "listAccounts" else {"account": self._account()}
        body = {"jsonrpc": "2.0", "method": method, "params": {**account, **(params or {})}, "id": uuid.uuid4().hex}
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            answer = self._http.post(f"{self._url}/api/v1/rpc", json=body, timeout=timeout)
            said = answer.json()
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise NotSent("The daemon of signal-cli cannot be reached") from None
        except httpx.HTTPError:
            raise lost("The daemon of signal-cli did not answer") from None
        except (ValueError, RecursionError):
            said = None
        if answer.is_success and isinstance(said, dict) and "result" in said and fits(said["result"], _SHAPES[method]):
            return said["result"]
        raise _error(answer, said, lost)

    def close(self) -> None:
        self._http.close()


def _error(answer: httpx.Response, said: Any, lost: type[Ambiguous] | type[NotSent]) -> PlatformError:
    if answer.status_code == 429:
        return RateLimited(retry_after(answer.headers.get("Retry-After")))
    if not answer.is_success or not fits(said, _REFUSAL):
        return lost("The answer of signal-cli could not be read")
    code, data = said["error"]["code"], said["error"].get("data")
    results = data["response"]["results"] if fits(data, {"response": {"results": _RESULTS}}) else []
    if code == _LIMITED:
        return _limited(results)
    if code in _LOST:
        return lost("signal-cli did not confirm the call")
    if code in _BAD_ACCOUNT and "account" in said["error"]["message"].lower():
        return Rejected("signal-cli does not know the account. Compare signal/account with `signal-cli listAccounts`")
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
