"""Signal: reads the events of signal-cli's daemon and posts them, signed, to the webhook function."""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from local.chats.relays.base import Relay, Target, Unusable
from local.chats.relays.webhook import Backoff
from local.chats.signal.spool import Spool
from shared.platforms.signal.inbound import sign as sign_event

log = logging.getLogger(__name__)
_ANSWER_SECONDS = 15
_LONGEST_EVENT = 1024 * 1024
_NO_METHOD = -32601
_ONE_ACCOUNT = "signal-cli's daemon serves one account only. Start it without -a (docs/platforms/signal.md)."
_BAD_ACCOUNT = (
    "signal-cli does not have the account of SIGNAL_ACCOUNT. Link or register it first (docs/platforms/signal.md), "
    "and write it with + and the country code."
)


class SignalRelay(Relay):
    """Keeps each event on the disk until the webhook has accepted it: the daemon hands it out once."""

    platform = "signal"

    def __init__(self, target: Target, **more: Any) -> None:
        super().__init__(target, **more)
        self._api = f"{target.api_url.rstrip('/')}/api/v1"
        self._account = self.secret("account")

    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:
        return sign_event(self.secret("relay_secret"), raw, now=now)

    async def run(self) -> None:
        """See Relay."""
        spool = Spool(Path(self.target.options.get("spool") or default_spool(self.target)))
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(self._listen(session, spool), self._forward(session, spool))

    async def _forward(self, session: aiohttp.ClientSession, spool: Spool) -> None:
        while True:
            raw = await spool.first()
            await self.webhook.forward(session, raw, event=_name_of(raw))
            with _logged("keeps an event that the service has, and forwards it again after a restart"):
                spool.done()

    async def _listen(self, session: aiohttp.ClientSession, spool: Spool) -> None:
        async def connect(backoff: Backoff) -> None:
            await self._check_account(session)
            async for raw in self._events(session):
                backoff.reset()
                with _logged("does not keep an event, which is lost if this process ends before the service has it"):
                    spool.add(raw)
            log.info("signal-cli closed the stream of events; connecting again")

        await self.keep_connected(connect, TimeoutError, aiohttp.ClientError, OSError, ValueError)

    async def _check_account(self, session: aiohttp.ClientSession) -> None:
        body = {"jsonrpc": "2.0", "method": "listAccounts", "id": "1"}
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        async with session.post(f"{self._api}/rpc", json=body, timeout=timeout) as answer:
            said = json.loads(await answer.read())
        accounts = said.get("result") if isinstance(said, dict) else None
        if isinstance(said, dict) and isinstance(said.get("error"), dict) and said["error"].get("code") == _NO_METHOD:
            raise Unusable(_ONE_ACCOUNT)
        if not isinstance(accounts, list):
            raise ValueError("not an answer of signal-cli")  # noqa: TRY004  # of what came, not of the code
        if self._account not in [one.get("number") for one in accounts if isinstance(one, dict)]:
            raise Unusable(_BAD_ACCOUNT)

    async def _events(self, session: aiohttp.ClientSession) -> AsyncIterator[bytes]:
        """The events of the account, each as the JSON that the daemon wrote, on one line."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_ANSWER_SECONDS)
        address = f"{self._api}/events"
        async with session.get(address, params={"account": self._account}, timeout=timeout) as answer:
            answer.raise_for_status()
            self.connected.set()
            left, data = b"", b""
            async for piece in answer.content.iter_any():
                *lines, left = (left + piece).split(b"\n")
                for line in lines:
                    field = line.rstrip(b"\r")
                    if field.startswith(b"data:"):
                        data += field.removeprefix(b"data:").strip()
                    elif not field and data:
                        yield data
                        data = b""
                if len(left) + len(data) > _LONGEST_EVENT:
                    raise ValueError("an event without an end")


def default_spool(target: Target) -> Path:
    """A file of this account and service, where programs keep their state."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hashlib.sha256(f"{target.url} {target.secrets['signal/account']}".encode()).hexdigest()[:16]
    return Path(state) / "handoff" / f"signal-{name}.events"


@contextmanager
def _logged(consequence: str) -> Iterator[None]:
    """A spool that cannot be written stops no event."""
    try:
        yield
    except OSError as error:
        log.error("the spool cannot be written (%s). It %s. Free some space.", error.strerror, consequence)  # noqa: TRY400  # a traceback adds nothing


def _name_of(raw: bytes) -> str:
    """The time of an event, for the log."""
    try:
        event: Any = json.loads(raw)
        return str(int(event["envelope"]["timestamp"]))
    except (ValueError, TypeError, KeyError):
        return "without a time"
