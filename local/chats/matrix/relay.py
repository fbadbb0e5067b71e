"""Matrix by long polling of `/sync`, for machines that the homeserver cannot reach."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import aiohttp

from local.chats.relays.base import Relay, RetryLater, Target, Unusable
from local.chats.relays.webhook import Backoff
from shared.platforms.matrix.inbound import MESSAGES

log = logging.getLogger(__name__)

Json = Mapping[str, Any]

_POSITION = "live.handoff.relay"
_NOTHING: Json = {"types": []}
_WANTED = [*MESSAGES, "m.room.encrypted"]
_MEMBER = "m.room.member"
_PAGE = 100
_MOST_PAGES = 20
_FILTER = json.dumps(
    {
        "presence": _NOTHING,
        "account_data": _NOTHING,
        "room": {
            "state": _NOTHING,
            "ephemeral": _NOTHING,
            "account_data": _NOTHING,
            "timeline": {"limit": _PAGE, "types": [*_WANTED, _MEMBER]},
        },
    }
)
_NEWEST = json.dumps({"room": {"timeline": {"limit": 1}, "state": _NOTHING}})


class MatrixRelay(Relay):
    """Polls `/sync`. How far it came is kept in the bot's account data, after the webhook accepted what was before.

    The first relay of an account begins with what is said from then on, and with open invitations. In a room that the
    bot joins, it begins with the invitation, as clients send the first words of a new chat right after it.
    """

    platform = "matrix"

    def __init__(self, target: Target, *, poll_seconds: int = 30, **more: Any) -> None:
        super().__init__(target, **more)
        self._api = f"{target.api_url.rstrip('/')}/_matrix/client/v3"
        self._headers = {"Authorization": f"Bearer {self.secret('bot_token')}"}
        self._poll_seconds = poll_seconds
        self._invited: set[str] = set()
        self._me = self._since = ""

    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:  # noqa: ARG002  # a shared secret has no age
        return {"Authorization": f"Bearer {self.secret('webhook_secret')}"}

    async def run(self) -> None:
        """See Relay."""
        async with aiohttp.ClientSession() as session:

            async def poll(backoff: Backoff) -> None:
                while True:
                    events, position = await self._poll(session)
                    backoff.reset()
                    self.connected.set()
                    await self._forward(session, events, position)

            await self.keep_connected(poll, aiohttp.ClientError, OSError, ValueError, LookupError, TypeError)

    async def _poll(self, session: aiohttp.ClientSession) -> tuple[list[Json], str]:
        """The events since the last position, and the next position."""
        if not self._me:
            self._me, self._since = await self._begin(session)
        answer = await self._sync(session, self._since)
        return await self._events(session, answer, self._me, self._since), str(answer["next_batch"])

    async def _forward(self, session: aiohttp.ClientSession, events: Sequence[Json], position: str) -> None:
        for event in events:
            raw = json.dumps({"events": [event]}, ensure_ascii=False).encode()
            await self.webhook.forward(session, raw, event=str(event.get("event_id", "an invitation")))
        if events or not self._since:
            await self._keep(session, self._me, position)
        self._since = position

    async def _begin(self, session: aiohttp.ClientSession) -> tuple[str, str]:
        """The bot's id, and how far an earlier relay came, if there was one."""
        me = str((await self._call(session, "GET", "/account/whoami"))["user_id"])
        kept = await self._call(session, "GET", _account_data(me), allow=404)
        return me, str(kept.get("since") or "")

    async def _keep(self, session: aiohttp.ClientSession, me: str, since: str) -> None:
        """If this fails, the next relay forwards some events again, and the service ignores them."""
        try:
            await self._call(session, "PUT", _account_data(me), body={"since": since})
        except (aiohttp.ClientError, OSError, ValueError, RetryLater) as error:
            log.warning("the position was not stored (%s)", type(error).__name__)

    async def _sync(self, session: aiohttp.ClientSession, since: str) -> Json:
        # The first poll answers at once and sets `connected`.
        seconds = self._poll_seconds if self.connected.is_set() else 0
        query = {"timeout": str(seconds * 1000), "filter": _FILTER if since else _NEWEST}
        return await self._call(session, "GET", "/sync", query={**query, **({"since": since} if since else {})})

    async def _events(self, session: aiohttp.ClientSession, answer: Json, me: str, since: str) -> list[Json]:
        rooms = answer.get("rooms") or {}
        found: list[Json] = []
        for room, joined in (rooms.get("join") or {}).items() if since else ():
            timeline = joined.get("timeline") or {}
            events: Sequence[Json] = list(timeline.get("events") or ())
            if timeline.get("limited") and timeline.get("prev_batch") and "join" not in _entries(events, me):
                events = [*await self._before(session, room, timeline["prev_batch"], since), *events]
            events = self._since_entry(room, events, me)
            found += [
                {**event, "room_id": room}
                for event in events
                if event.get("type") in _WANTED and event.get("sender") != me
            ]
        found.sort(key=lambda event: int(event.get("origin_server_ts") or 0))
        invited = rooms.get("invite") or {}
        if since:  # what was said since an older invitation was not said to this relay
            self._invited.update(invited)
        return [*_invitations(invited, me), *found]

    def _since_entry(self, room: str, events: Sequence[Json], me: str) -> Sequence[Json]:
        """The events after the bot was invited or joined: a homeserver adds earlier ones."""
        entries = _entries(events, me)
        if "join" not in entries:
            return events
        is_heard = room in self._invited and "invite" in entries
        return events[entries["invite" if is_heard else "join"] :]

    async def _before(self, session: aiohttp.ClientSession, room: str, start: str, end: str) -> list[Json]:
        """The events between two polls that did not fit into the answer, oldest first."""
        found: list[Json] = []
        for _ in range(_MOST_PAGES):
            query = {"dir": "b", "from": start, "to": end, "limit": str(_PAGE)}
            page = await self._call(session, "GET", f"/rooms/{quote(room, safe='')}/messages", query=query)
            found += page["chunk"]
            if not page["chunk"] or not page.get("end"):
                break
            start = page["end"]
        return found[::-1]

    async def _call(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        allow: int = 200,
    ) -> Json:
        timeout = aiohttp.ClientTimeout(total=self._poll_seconds + 15)
        async with session.request(
            method, self._api + path, params=query, json=body, headers=self._headers, timeout=timeout
        ) as answer:
            found = json.loads(await answer.read())
        if answer.status == 401:
            raise Unusable("The homeserver does not accept MATRIX_BOT_TOKEN. Log the bot in again for a new one.")
        if answer.status not in (200, allow) or not isinstance(found, dict):
            wait = found.get("retry_after_ms") if isinstance(found, dict) else None
            raise RetryLater(f"HTTP {answer.status}", wait / 1000 if isinstance(wait, int) else 0.0)
        return found


def _account_data(me: str) -> str:
    return f"/user/{quote(me, safe='')}/account_data/{_POSITION}"


def _entries(events: Sequence[Json], me: str) -> Mapping[str, int]:
    """Where the bot was invited and has joined, each for the last time; a new name of the bot is none of them."""
    found: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.get("type") == _MEMBER and event.get("state_key") == me:
            membership = (event.get("content") or {}).get("membership")
            if membership != ((event.get("unsigned") or {}).get("prev_content") or {}).get("membership"):
                found[str(membership)] = number
    return found


def _invitations(rooms: Mapping[str, Json], me: str) -> Iterator[Json]:
    for room, invited in rooms.items():
        for event in (invited.get("invite_state") or {}).get("events") or ():
            if event.get("type") == _MEMBER and event.get("state_key") == me:
                yield {**event, "room_id": room}
