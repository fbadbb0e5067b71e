"""What Slack's events say: whether they are Slack's, and what a person wrote where."""

import hashlib
import hmac
import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from shared.domain.routes import Place
from shared.ports.inbound import Answer, Ignored, Inbound

_FRESH_SECONDS = 300
# Other subtypes are Slack's own news: edits, joins, topics. These are still somebody's words.
_SPOKEN = frozenset({"thread_broadcast", "file_share", "me_message"})
_TS = re.compile(r"(\d{1,12})\.(\d{1,9})")
_LINK = re.compile(r"<(https?://|mailto:)([^>|]+)(?:\|([^>]*))?>")
_NAMED = re.compile(r"<([#!])(?:[^>|^]*[\^])?([^>|]+)(?:\|([^>]*))?>")


def is_from_slack(headers: Mapping[str, str], raw: bytes, secret: str | None, *, now: int) -> bool:
    """Whether the raw bytes carry Slack's signature, made within five minutes. No secret set: never."""
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not secret or not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 12:
        return False
    if abs(now / 1000 - int(timestamp)) > _FRESH_SECONDS:
        return False
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + raw, hashlib.sha256).hexdigest()
    given = headers.get("x-slack-signature", "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), f"v0={digest}".encode())


def read(headers: Mapping[str, str], raw: bytes) -> Inbound | Answer | Ignored:
    """A person's message, what to answer at once, or why it is neither."""
    try:
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return _read_command(headers, parse_qs(raw.decode()))
        body = json.loads(raw)
        if body["type"] == "url_verification":
            return Answer({"challenge": str(body["challenge"])})
        if body["type"] != "event_callback":
            return Ignored("a callback of another kind")
        return _read_event(body)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return Ignored("not a callback that Slack would send")


def _read_event(body: Mapping[str, Any]) -> Inbound | Ignored:
    event = body["event"]
    ours = [known["user_id"] for known in body.get("authorizations") or () if known.get("is_bot")]
    if event["type"] not in ("message", "app_mention"):
        return Ignored("an event of another kind")
    if event.get("bot_id") or event.get("user") in ours:
        return Ignored("a message of a bot")
    if event.get("subtype") and event["subtype"] not in _SPOKEN:
        return Ignored(f"not spoken: {event['subtype']}" if str(event["subtype"]).isidentifier() else "not spoken")
    text = _as_typed(event.get("text") or "", ours)
    if not text:
        return Ignored("a message without text")
    thread = event.get("thread_ts")
    place = Place("slack", str(event["channel"]), str(thread) if thread and thread != event["ts"] else None)
    return Inbound(event_id=_sortable(event["ts"]), place=place, sender=str(event["user"]), text=text)


def _read_command(headers: Mapping[str, str], form: Mapping[str, list[str]]) -> Inbound | Ignored:
    """A slash command. Slack sends it once, without a message's id, and from no thread."""
    if "command" not in form:
        return Ignored("a form of another kind")
    # The second of the command sorts among messages; the trigger tells it from others of that second.
    trigger = int(hashlib.sha256(form["trigger_id"][0].encode()).hexdigest(), 16) % 1_000_000
    said = " ".join([form["command"][0], *form.get("text", [])]).strip()
    return Inbound(
        event_id=_sortable(f"{headers['x-slack-request-timestamp']}.{trigger:06d}"),
        place=Place("slack", form["channel_id"][0]),
        sender=form["user_id"][0],
        text=html.unescape(said),
        answer=Answer({"response_type": "ephemeral", "text": f"Got `{form['command'][0]}`; the answer comes here."}),
    )


def _sortable(ts: str) -> str:
    match = _TS.fullmatch(ts)
    if match is None:
        raise ValueError("no timestamp of Slack's")
    return f"{int(match[1]):012d}.{match[2]:0<9}"


def _as_typed(text: str, ours: list[str]) -> str:
    """The words as the person typed them: no call to us in front, links and names plain, characters unescaped."""
    for user in ours:
        text = re.sub(rf"^\s*<@{re.escape(user)}(?:\|[^>]*)?>[\s:,]*", "", text)
    text = _LINK.sub(_link_as_typed, text)
    text = _NAMED.sub(lambda match: ("#" if match[1] == "#" else "@") + (match[3] or match[2]).lstrip("@#"), text)
    return html.unescape(text).strip()


def _link_as_typed(match: re.Match[str]) -> str:
    scheme, rest, label = match.groups()
    address = rest if scheme == "mailto:" else scheme + rest
    return address if not label or label in address else f"{label} ({address})"
