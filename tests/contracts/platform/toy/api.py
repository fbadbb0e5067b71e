"""Calls to the toy over HTTP, with its errors as PlatformErrors. Imported on the first call."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from shared.domain.files import ChatFile, OutFile
from shared.errors import PlaceGone, PlatformError, Rejected, ThreadRefused
from shared.platforms.answers import Shape, fits
from shared.platforms.downloads import Source, download, origins, reference_of
from shared.platforms.http_api import HttpApi, Lost
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import FileReader, posted_name

SECONDS = 5.0


class Api(HttpApi):
    """One bot."""

    server = "The toy"

    def __init__(self, url: str, token: Callable[[], str]) -> None:
        super().__init__(url)
        self._token = token
        self._source = Source(self.server, origins(url), self.headers)

    def get(self, path: str, shape: Shape, *, seconds: float = SECONDS, **query: str) -> Any:
        return self.call("GET", path, shape, seconds=seconds, changes=False, params=query)

    def change(self, method: str, path: str, body: Mapping[str, Any], shape: Shape = dict) -> Any:
        return self.call(method, path, shape, seconds=SECONDS, json=body)

    def post_file(self, chat: str, fields: Mapping[str, str], file: OutFile) -> str:
        reader = FileReader(file)
        form = {"file": (posted_name(file.name), reader, reader.media_type)}
        path = f"/chats/{chat}/files"
        return str(self.call("POST", path, {"id": str}, seconds=UPLOAD_SECONDS, data=fields, files=form)["id"])

    def fetch_file(self, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        url = f"{self._url}/files/{reference_of(file, '[0-9]+')}"
        return download(self._http, self._source, url, file, limit=limit)

    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._token()}"}

    def refusal(self, response: httpx.Response, said: Any, _: Lost) -> PlatformError | None:
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            return None
        if not response.is_client_error or not fits(said, {"error": str}):
            return None
        kind = {404: PlaceGone, 409: ThreadRefused}.get(response.status_code, Rejected)
        return kind(f"The toy refused: {said['error']}")
