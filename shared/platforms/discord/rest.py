"""Discord's REST API through discord.py, without its Gateway and its sleeping on rate limits."""

import asyncio
import json
import logging
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import discord
from discord.http import HTTPClient, Ratelimit, Route

from shared.domain.files import ChatFile, OutFile
from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited, Rejected
from shared.platforms.aiohttp_uploads import FilePayload
from shared.platforms.answers import check, fits
from shared.platforms.discord.answers import ME, REFUSAL, SHAPES
from shared.platforms.discord.attempts import Attempt, traced
from shared.platforms.discord.errors import refusal
from shared.platforms.downloads import Source, check_size, download, origins, reference_of
from shared.platforms.http_api import new_client
from shared.platforms.loop import run
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import FileReader, posted_name

# At DEBUG discord.py logs whole requests and answers, which contain messages.
logging.getLogger("discord").setLevel(logging.INFO)

T = TypeVar("T")
Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]

# Shorter than Discord's: after a container was frozen, an old connection may be closed.
_KEEP_ALIVE_SECONDS = 10
_CONNECT_SECONDS = 5
_FILES_URLS = ("https://cdn.discordapp.com", "https://media.discordapp.net")


class _Http(HTTPClient):
    def get_ratelimit(self, key: str) -> Ratelimit:  # noqa: ARG002  # signature is discord.py's
        """A new bucket for each request: discord.py would sleep on a kept one, even after a sent message.

        A new bucket does not sleep before the request, and its tiny time-out skips the sleep after it. Rate limits are
        read from Discord's 429 instead.
        """
        return Ratelimit(1e-9)


class DiscordHttp:
    """Calls that end within `limit` seconds, of which at most `patience` are spent waiting for rate limits."""

    def __init__(self, base_url: str, token: str, *, limit: float, patience: float) -> None:
        self._token = token
        self._limit = limit
        self._patience = patience
        self._base_url = base_url.rstrip("/")
        # A subclass of Route with the address of this client: `Route.BASE` is global, and each login sets it to its own.
        self._route: type[Route] = type("_Route", (Route,), {"BASE": self._base_url})
        self._http: HTTPClient | None = None
        self._logging_in: asyncio.Lock | None = None
        self.me = ""

    async def call(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        params: Any = None,
        file: OutFile | None = None,
        **ids: str,
    ) -> Any:
        """One REST call: `path` has placeholders such as `{channel_id}`, `ids` their values. Raises PlatformErrors.

        Returns the parsed answer, which is of its shape in answers.py. With a `file`, a form with both.
        """
        now = asyncio.get_running_loop().time
        deadline, patience = now() + (UPLOAD_SECONDS if file else self._limit), self._patience
        while True:
            try:
                given = {"json": body} if file is None else {"form": _form(body, file)}
                return await self._once(method, path, given, params, ids, seconds=deadline - now())
            except RateLimited as limited:
                if limited.after > min(patience, (deadline - now()) / 2):
                    raise
                patience -= max(limited.after, 0.1)
                await asyncio.sleep(limited.after)

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def _once(
        self, method: str, path: str, content: Mapping[str, Any], params: Any, ids: Mapping[str, str], *, seconds: float
    ) -> Any:
        attempt = Attempt(method)
        timeout = aiohttp.ClientTimeout(total=seconds, connect=min(_CONNECT_SECONDS, seconds))
        given: dict[str, Any] = {"trace_request_ctx": attempt, "timeout": timeout}
        given |= {name: value for name, value in content.items() if value is not None}
        if params is not None:
            given["params"] = params
        shape = SHAPES[f"{method} {path}"]
        try:
            async with asyncio.timeout(seconds):
                http = await self._logged_in()
                answer = await http.request(self._route(method, path, **ids), **given)
            check(answer, shape)
        except PlatformError:
            raise
        except discord.HTTPException as error:
            if await _is_refusal(error):
                raise refusal(error.status, error.code, error.text) from error
            raise attempt.lost(f"Discord answered {error.status}") from None
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise attempt.lost(f"no answer from Discord ({type(error).__name__})") from None
        except Exception as error:  # noqa: BLE001  # discord.py reads answers unchecked: an odd one raises anything
            raise attempt.lost(f"Discord's answer could not be read ({type(error).__name__})") from None
        return answer

    async def _logged_in(self) -> HTTPClient:
        """The client, made on the first call because it must be made on the loop that all calls run on."""
        self._logging_in = self._logging_in or asyncio.Lock()
        async with self._logging_in:
            if self._http is None:
                self._http = await self._log_in()
            return self._http

    async def _log_in(self) -> HTTPClient:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS)
        http = _Http(asyncio.get_running_loop(), connector, http_trace=traced())
        # `static_login` has no other way to get the address, and reads it before it first waits: logins on one loop do not mix.
        Route.BASE = self._base_url
        try:
            me = await http.static_login(self._token)
            check(me, ME)
        except BaseException as error:
            await http.close()
            if isinstance(error, discord.LoginFailure) and await _is_refusal(error.__cause__):
                raise Rejected("Discord does not accept the bot's token") from error
            if isinstance(error, PlatformError) or not isinstance(error, Exception):
                raise
            raise NotSent(f"no login at Discord ({type(error).__name__})") from None
        self.me = str(me["id"])
        return http


def _form(body: Body | None, file: OutFile) -> list[dict[str, Any]]:
    """The parts of a form for discord.py."""
    part = {"name": "files[0]", "value": FilePayload(FileReader(file)), "filename": posted_name(file.name)}
    return [{"name": "payload_json", "value": json.dumps(body)}, part]


class Api:
    """DiscordHttp for synchronous code. Every method blocks, and may be called from several threads."""

    def __init__(self, url: str, token: str, *, limit: float, patience: float) -> None:
        self.http = DiscordHttp(url, token, limit=limit, patience=patience)
        self._limit = limit
        self._files = new_client(url)
        # Addresses of files are signed: whoever has one may read the file, and no token is sent.
        is_discord = (urlsplit(url).hostname or "").endswith("discord.com")
        self._source = Source("Discord", origins(*_FILES_URLS) if is_discord else origins(url))

    def fetch_file(self, channel: str, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        """Reads the message again, for a new address of its file."""
        check_size(file, limit)
        message_id, _, wanted = reference_of(file, "[0-9]{1,20}/[0-9]{1,20}").partition("/")
        path = "/channels/{channel_id}/messages/{message_id}"
        message = self.call("GET", path, channel_id=channel, message_id=message_id)
        parts = [message, *(snapshot["message"] for snapshot in message.get("message_snapshots") or ())]
        urls = [str(one["url"]) for part in parts for one in part.get("attachments") or () if one["id"] == wanted]
        if not urls:
            raise Rejected("The file is no longer there")
        return download(self._files, self._source, urls[0], file, limit=limit)

    def call(
        self, method: str, path: str, body: Body | None = None, *, seconds: float | None = None, **more: Any
    ) -> Any:
        """See `DiscordHttp.call`."""
        return self.run(self.http.call(method, path, body, **more), seconds=seconds)

    def run(self, work: Coroutine[Any, Any, T], *, seconds: float | None = None) -> T:
        """Several calls, or one that may hang: each call has a time-out and raises the right error itself."""
        try:
            return run(work, timeout=seconds or self._limit + 1)
        except TimeoutError as error:
            raise Ambiguous("Discord did not answer in time") from error

    def close(self) -> None:
        run(self.http.close(), timeout=5)
        self._files.close()


async def _is_refusal(error: BaseException | None) -> bool:
    """Whether Discord refused the call itself: a page with such a status may be that of a proxy."""
    if not isinstance(error, discord.HTTPException) or not isinstance(error.response, aiohttp.ClientResponse):
        return False
    try:
        return error.status < 500 and fits(await error.response.json(content_type=None), REFUSAL)
    except ValueError:
        return False
