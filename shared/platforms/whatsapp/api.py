"""Calls to the Cloud API over HTTP, with its errors as PlatformErrors. Imported on the first call."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx

from shared.domain.files import ChatFile, OutFile
from shared.errors import Ambiguous, PlatformError
from shared.platforms.answers import fits
from shared.platforms.downloads import Source, download, origins, reference_of
from shared.platforms.http_api import HttpApi, Lost
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import FileReader, posted_name
from shared.platforms.whatsapp.errors import is_unsure, refusal
from shared.platforms.whatsapp.messages import Body

_SECONDS = 10.0
_SENT = {"messages": [{"id": str}]}
_ADDRESSES = {"application?": str, "whatsapp_business_account?": str, "phone_number?": str}
_NUMBER = {"display_phone_number": str, "verified_name?": str, "webhook_configuration?": _ADDRESSES}
_MEDIA_URL = "https://lookaside.fbsbx.com"
_MEDIA_ID = re.compile(r"[0-9]{1,40}")
_MEDIA = {"url": str, "file_size?": int}
_REFUSAL = {"error": {"code": int, "error_subcode?": int}}


class Api(HttpApi):
    """One phone number."""

    server = "WhatsApp"

    def __init__(self, url: str, token: Callable[[], str], number: Callable[[], str]) -> None:
        super().__init__(url)
        self._token, self._number = token, number
        # Files of the real WhatsApp are at another host, which wants the token, too.
        media = (_MEDIA_URL,) if urlsplit(url).hostname == "graph.facebook.com" else ()
        self._source = Source(self.server, origins(url, *media), self.headers)

    def send(self, body: Body, *, seconds: float = _SECONDS) -> str:
        """Send a message; returns its id."""
        sent = self.call("POST", f"/{self._number()}/messages", _SENT, seconds=seconds, json=body)
        if not sent["messages"]:
            raise Ambiguous("WhatsApp's answer could not be read")
        return str(sent["messages"][0]["id"])

    def upload(self, file: OutFile, media_type: str) -> str:
        """Store a file at WhatsApp; returns its id. Nothing is posted by this."""
        form = {"messaging_product": "whatsapp", "type": media_type}
        files = {"file": (posted_name(file.name), FileReader(file), media_type)}
        path = f"/{self._number()}/media"
        sent = self.call("POST", path, {"id": _MEDIA_ID}, seconds=UPLOAD_SECONDS, changes=False, data=form, files=files)
        return str(sent["id"])

    def fetch_file(self, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        """WhatsApp names an address that lives for five minutes, and the size, which the message does not tell."""
        reference = reference_of(file, "[0-9]{1,40}")
        asked = {"phone_number_id": self._number()}
        found = self.call("GET", f"/{reference}", _MEDIA, seconds=_SECONDS, changes=False, params=asked)
        size = found.get("file_size")
        known = file if size is None or file.size is not None else replace(file, size=size)
        return download(self._http, self._source, str(found["url"]), known, limit=limit)

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
