"""Downloads of people's files: streamed, only from listed addresses, never longer than announced."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import httpx

from shared.domain.files import ChatFile
from shared.errors import NotSent, PlatformError, RateLimited, Rejected
from shared.platforms.answers import DEFAULT_RETRY_AFTER, retry_after

SECONDS = 40.0
"""For a whole file."""
_SILENT_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_CHUNK = 64 * 1024
_MOST_REDIRECTS = 3
_PAGES = ("text/html", "application/xhtml+xml")
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Source:
    """Where a platform keeps files. `server` is its name in texts for people.

    Only `origins` are asked, and only they get the `headers`. `redirects` are origins that one of them may name instead.
    `page` is the reason if a web page comes in place of a file.
    """

    server: str
    origins: frozenset[str]
    headers: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)
    redirects: frozenset[str] = frozenset()
    page: str = ""


def origin_of(url: str) -> str | None:
    """Scheme, host and port; None for what is no HTTP address, and for one with a user or a password in it."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None or parts.password is not None:
        return None
    return f"{parts.scheme}://{parts.hostname}:{port}"


def origins(*urls: str) -> frozenset[str]:
    return frozenset(filter(None, map(origin_of, urls)))


def reference_of(file: ChatFile, form: str) -> str:
    """The reference, of which the whole is of this form. Raises Rejected: it becomes part of an address."""
    if not re.fullmatch(form, file.reference, re.ASCII):
        raise Rejected("The file has no id that the platform would give")
    return file.reference


def check_size(file: ChatFile, limit: int) -> None:
    """Raises Rejected for a file that is announced as longer than the limit."""
    if file.size is not None and file.size > limit:
        raise _too_large(limit)


def download(http: httpx.Client, source: Source, url: str, file: ChatFile, *, limit: int) -> Iterator[bytes]:
    """The bytes at `url`. Closing the iterator ends the request. Raises PlatformErrors, which name no address.

    Raises NotSent where another try may give the file, and Rejected where the answer is final.
    """
    check_size(file, limit)
    deadline = time.monotonic() + SECONDS
    for _ in range(_MOST_REDIRECTS):
        response = _ask(http, source, url)
        try:
            if response.status_code in _REDIRECTS:
                url = urljoin(url, response.headers.get("Location", ""))
                continue
            yield from checked(_opened(response, source, file, limit), source.server, file, limit, deadline)
        finally:
            response.close()
        return
    raise NotSent(f"{source.server} did not lead to the file")


def checked(
    chunks: Iterator[bytes], server: str, file: ChatFile, limit: int, deadline: float | None = None
) -> Iterator[bytes]:
    """The chunks, as long as they are no more than announced, and in time."""
    most, got = limit if file.size is None else min(file.size, limit), 0
    for chunk in chunks:
        got += len(chunk)
        if got > limit:
            raise _too_large(limit)
        if got > most:
            raise Rejected("The file is longer than was announced")
        if deadline is not None and time.monotonic() > deadline:
            raise NotSent(f"{server} sent the file too slowly")
        yield chunk
    if got < (file.size or 0):
        raise NotSent(f"{server} did not send all of the file")


def _ask(http: httpx.Client, source: Source, url: str) -> httpx.Response:
    where = origin_of(url)
    if where not in source.origins | source.redirects:
        raise Rejected(f"{source.server} names an address of the file that is not its own, so it was not asked")
    # A compressed answer could become longer than any limit.
    headers = {"Accept-Encoding": "identity", **(source.headers() if where in source.origins else {})}
    timeout = httpx.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS)
    try:
        request = http.build_request("GET", url, headers=headers, timeout=timeout)
        return http.send(request, stream=True, follow_redirects=False)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
        raise NotSent(f"{source.server} cannot be reached") from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
        raise NotSent(f"{source.server} did not answer") from None


def _opened(response: httpx.Response, source: Source, file: ChatFile, limit: int) -> Iterator[bytes]:
    if response.status_code != httpx.codes.OK:
        raise _refusal(response, source.server)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Rejected(f"{source.server} sent the file compressed, which is not accepted")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type in _PAGES and file.media_type.partition(";")[0].strip().lower() not in _PAGES:
        raise Rejected(source.page or f"{source.server} sent a web page in place of the file")
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
    if length.isdecimal() and file.size is not None and int(length) != file.size:
        raise Rejected("The file does not have the size that was announced")
    return _body(response, source.server)


def _body(response: httpx.Response, server: str) -> Iterator[bytes]:
    try:
        yield from response.iter_raw(_CHUNK)
    except httpx.HTTPError:
        raise NotSent(f"The connection to {server} broke within the file") from None


def _refusal(response: httpx.Response, server: str) -> PlatformError:
    match response.status_code:
        case 429:
            return RateLimited(retry_after(response.headers.get("Retry-After")) or DEFAULT_RETRY_AFTER)
        case 404 | 410:
            return Rejected("The file is no longer there")
        case 401 | 403:
            return Rejected(f"{server} does not let the bot read the file")
        case status:
            return NotSent(f"{server} did not send the file (HTTP {status})")


def _too_large(limit: int) -> Rejected:
    return Rejected(f"The file is larger than the {limit / 1_000_000:g} MB that can be read")
