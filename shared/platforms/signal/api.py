"""Calls to the JSON-RPC endpoint of signal-cli's daemon, with its errors as PlatformErrors. Imported on the first call."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx

from shared.domain.files import ChatFile, OutFile
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import Shape, fits, retry_after
from shared.platforms.downloads import SECONDS as DOWNLOAD_SECONDS
from shared.platforms.downloads import check_size, checked, reference_of
from shared.platforms.http_api import HttpApi, Lost
from shared.platforms.signal.attachments import NoData, decoded, encoded
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS

_SECONDS = 10.0
_RPC = "/api/v1/rpc"
_FILE_ID = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}"
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
        return _time_of(self.ask("send", {**to, "message": text, **more}))

    def send_file(self, to: Mapping[str, Any], file: OutFile, text: str) -> int:
        length, pieces = encoded(self._body("send", {**to, "message": text}), file)
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        shape = {"result": _SENT}
        return _time_of(
            self.call("POST", _RPC, shape, seconds=UPLOAD_SECONDS, content=pieces, headers=headers)["result"]
        )

    def fetch_file(self, to: Mapping[str, Any], file: ChatFile, *, limit: int) -> Iterator[bytes]:
        """The daemon answers with the whole file inside JSON, which is read as it comes."""
        check_size(file, limit)
        body = self._body("getAttachment", {"id": reference_of(file, _FILE_ID), **to})
        seconds, deadline = httpx.Timeout(_SECONDS, connect=_SECONDS / 2), time.monotonic() + DOWNLOAD_SECONDS
        headers = {"Accept-Encoding": "identity"}
        try:
            with self._http.stream("POST", self._url + _RPC, json=body, headers=headers, timeout=seconds) as answer:
                if answer.is_redirect or answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise Rejected(f"{self.server} did not answer with the file itself")
                yield from checked(decoded(answer.iter_raw()), self.server, file, limit, deadline)
        except NoData as no_data:
            raise self._no_file(no_data.head) from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            raise NotSent(f"{self.server} cannot be reached") from None
        except httpx.HTTPError:
            raise NotSent(f"The connection to {self.server} broke within the file") from None

    def _no_file(self, head: bytes) -> PlatformError:
        try:
            said = json.loads(head)
        except ValueError:
            said = None
        if head.lstrip().startswith(b"<"):
            return Rejected(f"{self.server} sent a web page in place of the file")
        if not fits(said, _REFUSAL):
            return NotSent(f"{self.server} gave an answer that could not be read")
        if said["error"]["code"] == _NO_METHOD:
            return Rejected("signal-cli's daemon is too old to hand out files, or serves one account only")
        return Rejected("The file is no longer there")

    def ask(self, method: str, params: Mapping[str, Any] | None = None, *, seconds: float = _SECONDS) -> Any:
        """One method for the account; returns its result, which is of its shape."""
        body, shape, changes = self._body(method, params or {}), {"result": _SHAPES[method]}, method in _CHANGES
        return self.call("POST", _RPC, shape, seconds=seconds, changes=changes, json=body)["result"]

    def _body(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        account = {} if method == "listAccounts" else {"account": self._account()}
        return {"jsonrpc": "2.0", "method": method, "params": {**account, **params}, "id": uuid.uuid4().hex}

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


def _time_of(sent: Mapping[str, Any]) -> int:
    """The time of a sent message. Raises the error if it reached nobody."""
    results = sent.get("results", [])
    if results and not any(result["type"] == "SUCCESS" for result in results):
        raise _undelivered(results)
    return int(sent["timestamp"])


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
