"""Calls to the Cloud API over HTTP, with its errors as PlatformErrors. Imported on the first call."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx

from shared.errors import Ambiguous, PlatformError
from shared.platforms.answers import fits
from shared.platforms.http_api import HttpApi, Lost
from shared.platforms.whatsapp.errors import is_unsure, refusal
from shared.platforms.whatsapp.messages import Body

_SECONDS = 10.0
_SENT = {"messages": [{"id": str}]}
_ADDRESSES = {"application?": str, "whatsapp_business_account?": str, "phone_number?": str}
_NUMBER = {"display_phone_number": str, "verified_name?": str, "webhook_configuration?": _ADDRESSES}
_REFUSAL = {"error": {"code": int, "error_subcode?": int}}


class Api(HttpApi):
    """One phone number."""

    server = "WhatsApp"

    def __init__(self, url: str, token: Callable[[], str], number: Callable[[], str]) -> None:
        super().__init__(url)
        self._token, self._number = token, number

    def send(self, body: Body, *, seconds: float = _SECONDS) -> str:
        """Send a message; returns its id."""
        sent = self.call("POST", f"/{self._number()}/messages", _SENT, seconds=seconds, json=body)
        if not sent["messages"]:
            raise Ambiguous("WhatsApp's answer could not be read")
        return str(sent["messages"][0]["id"])

    def number(self, *, seconds: float = _SECONDS) -> dict[str, Any]:
        """The bot's number as people see it, its name, and where its webhooks go."""
        asked = {"fields": "display_phone_number,verified_name,webhook_configuration"}
        path = f"/{self._number()}"
        found: dict[str, Any] = self.call("GET", path, _NUMBER, seconds=seconds, changes=False, params=asked)
        return found

    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._token()}"}

    def refusal(self, response: httpx.Response, said: Any, _: Lost) -> PlatformError | None:
        if not response.is_client_error or not fits(said, _REFUSAL) or is_unsure(said["error"]["code"]):
            return None
        error = said["error"]
        return refusal(error["code"], error.get("error_subcode"), response.headers.get("Retry-After"))
