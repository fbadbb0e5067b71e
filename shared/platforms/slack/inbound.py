"""Webhooks of Slack: verification, messages in events, and slash commands."""

import hashlib
import hmac
import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from shared.domain.routes import Place
from shared.platforms.slack import SPEC
from shared.ports.inbound import Answer, Inbound, Parsed

_FRESH_SECONDS = 300
# The subtypes of messages that a person wrote; the others are notices of Slack (edits, joins, topics).
_WRITTEN = frozenset({"thread_broadcast", "file_share", "me_message"})
_TS = re.compile(r"([0-9]{1,12})\.([0-9]{1,9})")
_LINK = re.compile(r"<(https?://|mailto:)([^>|]+)(?:\|([^>]*))?>")
_NAMED = re.compile(r"<([#!])(?:[^>|^]*[\^])?([^>|]+)(?:\|([^>]*))?>")


def is_from_slack(headers: Mapping[str, str], raw: bytes, secret: str | None, *, now: int) -> bool:
    """Whether the raw bytes carry Slack's signature of the last five minutes. Never, while no secret is set."""
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not secret or not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 12:
        return False
    if abs(now / 1000 - int(timestamp)) > _FRESH_SECONDS:
        return False
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + raw, hashlib.sha256).hexdigest()
    given = headers.get("x-slack-signature", "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), f"v0={digest}".encode())


def parse(headers: Mapping[str, str], raw: bytes) -> Parsed:
    """The message of a person, the answer to a handshake, or why the request is ignored."""
    try:
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return _parse_command(headers, parse_qs(raw.decode()))
        body = json.loads(raw)
        if body["type"] == "url_verification":
            return Parsed(answer=Answer({"challenge": str(body["challenge"])}))
        if body["type"] != "event_callback":
            return Parsed(ignored="a callback of another kind")
        return _parse_event(body)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return Parsed(ignored="not a callback that Slack would send")


def _parse_event(body: Mapping[str, Any]) -> Parsed:
    event = body["event"]
    ours = [known["user_id"] for known in body.get("authorizations") or () if known.get("is_bot")]
    if event["type"] not in ("message", "app_mention"):
        return Parsed(ignored="an event of another kind")
    if event.get("bot_id") or event.get("user") in ours:
        return Parsed(ignored="a message of a bot")
    if event.get("subtype") and event["subtype"] not in _WRITTEN:
        return Parsed(ignored=f"a notice: {event['subtype']}" if str(event["subtype"]).isidentifier() else "a notice")
    text = _as_typed(event.get("text") or "", ours)
    if not text:
        return Parsed(ignored="a message without text")
    thread = event.get("thread_ts")
    if thread is not None and not _TS.fullmatch(thread):
        raise ValueError("not a timestamp of Slack")
    place = Place(SPEC.name, event["channel"], thread if thread != event["ts"] else None)
    return Parsed((_message(_sortable(event["ts"]), place, event["user"], text),))


def _parse_command(headers: Mapping[str, str], form: Mapping[str, list[str]]) -> Parsed:
    """A slash command. Slack sends it once, without the id of a message and without a thread."""
    if "command" not in form:
        return Parsed(ignored="a form of another kind")
    # The second of the command sorts among messages; the trigger tells it from others of that second.
    trigger = int(hashlib.sha256(form["trigger_id"][0].encode()).hexdigest(), 16) % 1_000_000
    typed = " ".join([form["command"][0], *form.get("text", [])]).strip()
    event_id = _sortable(f"{headers['x-slack-request-timestamp']}.{trigger:06d}")
    place = Place(SPEC.name, form["channel_id"][0])
    inbound = _message(event_id, place, form["user_id"][0], html.unescape(typed))
    received = {"response_type": "ephemeral", "text": f"Got `{form['command'][0]}`; the answer comes here."}
    return Parsed((inbound,), Answer(received))


def _message(event_id: str, place: Place, sender: str, text: str) -> Inbound:
    if not SPEC.is_chat_id(place.chat) or not SPEC.is_person_id(sender):
        raise ValueError("not an id of Slack")
    return Inbound(event_id, place, sender, text, private=place.chat.startswith("D"))


def _sortable(ts: str) -> str:
    match = _TS.fullmatch(ts)
    if match is None:
        raise ValueError("not a timestamp of Slack")
    return f"{int(match[1]):012d}.{match[2]:0<9}"


def _as_typed(text: str, ours: list[str]) -> str:
    """The text as the person typed it: without the bot's mention in front, with plain links, names and characters."""
    for user in ours:
        text = re.sub(rf"^\s*<@{re.escape(user)}(?:\|[^>]*)?>[\s:,]*", "", text)
    text = _LINK.sub(_link_as_typed, text)
    text = _NAMED.sub(lambda match: ("#" if match[1] == "#" else "@") + (match[3] or match[2]).lstrip("@#"), text)
    return html.unescape(text).strip()


def _link_as_typed(match: re.Match[str]) -> str:
    scheme, rest, label = match.groups()
    address = rest if scheme == "mailto:" else scheme + rest
    return address if not label or label in address else f"{label} ({address})"
