"""The bytes of files on Slack, which the SDK would hold in memory as a whole."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx

from shared.domain.files import ChatFile, OutFile
from shared.errors import NotSent, Rejected
from shared.platforms.downloads import Source, download, origin_of, origins
from shared.platforms.http_api import new_client
from shared.platforms.uploads import SECONDS, FileReader

_FILES_URL = "https://files.slack.com"
_CONNECT_SECONDS = 6.0
_NO_SCOPE = "The Slack app may not read files: it lacks the scope files:read. Add it and install the app again"


class FileBytes:
    """Streams to and from Slack's host of files, or the host of another API. Raises PlatformErrors."""

    def __init__(self, url: str, token: str) -> None:
        self._http = new_client(url)
        files = (_FILES_URL,) if (urlsplit(url).hostname or "").endswith("slack.com") else ()
        bearer = {"Authorization": f"Bearer {token}"}
        self._source = Source("Slack", origins(url, *files), lambda: bearer, page=_NO_SCOPE)

    def put(self, url: str, file: OutFile, name: str) -> None:
        """Fill an announced upload. Nothing is posted by this."""
        if origin_of(url) not in self._source.origins:
            raise NotSent("Slack names an address for the file that is not its own")
        reader, timeout = FileReader(file), httpx.Timeout(SECONDS, connect=_CONNECT_SECONDS)
        form: Any = {"file": (name, reader, reader.media_type)}
        try:
            answer = self._http.post(url, files=form, timeout=timeout, follow_redirects=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            raise NotSent("The connection to Slack broke within the file") from None
        if answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
            raise Rejected("The file is too large for Slack")
        if not answer.is_success:
            raise NotSent(f"Slack did not take the file (HTTP {answer.status_code})")

    def get(self, url: str, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        return download(self._http, self._source, url, file, limit=limit)

    def close(self) -> None:
        self._http.close()
