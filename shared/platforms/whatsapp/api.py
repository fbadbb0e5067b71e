"""Calls to the Cloud API over HTTP, with its errors as PlatformErrors. Imported on the first call."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited
from shared.platforms.answers import Shape, fits, retry_after
from shared.platforms.whatsapp.errors import is_unsure, refusal
from shared.platforms.whatsapp.messages import Body

_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_SENT = {"messages": [{"id": str}]}
_ADDRESSES = {"application?": str, "whatsapp_business_account?": str, "phone_number?": str}
_NUMBER = {"display_phone_number": str, "verified_name?": str, "webhook_configuration?": _ADDRESSES}
_REFUSAL = {"error": {"code": int, "error_subcode?": int}}


class Api:
    """One phone number. Every method blocks, raises only PlatformErrors, and may be called from several threads."""

    def __init__(self, url: str, token: Callable[[], str], number: Callable[[], str]) -> None:
        self._url, self._token, self._number = url.rstrip("/"), token, number
        is_here = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
        # A proxy from the environment is for public addresses, not for a simulator on this machine.
        self._http = httpx.Client(trust_env=not is_here, verify=httpx.create_ssl_context())

    def send(self, body: Body, *, seconds: float = _SECONDS) -> str:
        """Send a message; returns its id."""
        sent = self._call("POST", "/messages", _SENT, seconds, json=body)
        if not sent["messages"]:
            raise Ambiguous("WhatsApp's answer could not be read")
        return str(sent["messages"][0]["id"])

    def number(self, *, seconds: float = _SECONDS) -> dict[str, Any]:
        """The bot's number as people see it, its name, and where its webhooks go."""
        fields = "display_phone_number,verified_name,webhook_configuration"
        found: dict[str, Any] = self._call("GET", "", _NUMBER, seconds, params={"fields": fields})
        return found

    def close(self) -> None:
        self._http.close()

    def _call(self, method: str, path: str, shape: Shape, seconds: float, **more: Any) -> Any:
        lost = Ambiguous if method == "POST" else NotSent
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        headers = {"Authorization": f"Bearer {self._token()}"}
        try:
            answer = self._http.request(
                method, f"{self._url}/{self._number()}{path}", headers=headers, timeout=timeout, **more
            )
            said = answer.json()
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise NotSent("WhatsApp cannot be reached") from None
        except httpx.HTTPError:
            raise lost("WhatsApp did not answer") from None
        except (ValueError, RecursionError):
            said = None
        if answer.is_success and fits(said, shape):
            return said
        raise _error(answer, said, lost)


def _error(answer: httpx.Response, said: Any, lost: type[Ambiguous] | type[NotSent]) -> PlatformError:
    asked = answer.headers.get("Retry-After")
    if answer.is_client_error and fits(said, _REFUSAL):
        error = said["error"]
        if not is_unsure(error["code"]):
            return refusal(error["code"], error.get("error_subcode"), asked)
    if answer.status_code == 429:
        return RateLimited(retry_after(asked))
    return lost(
        "WhatsApp's answer could not be read" if answer.is_success else f"WhatsApp answered {answer.status_code}"
    )
