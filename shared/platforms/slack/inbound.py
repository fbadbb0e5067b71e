"""Webhooks of Slack: verification, messages in events, slash commands, and presses of buttons."""

import hashlib
import hmac
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from shared.domain.attachments import OTHER, counted, kind_of_media
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.slack import SPEC
from shared.platforms.webhooks import UNREADABLE, is_equal, is_fresh
from shared.ports.inbound import Answer, Inbound, Parsed, Pressed

_EMPTY = Answer("")
# The subtypes of messages that a person wrote; the others are notices of Slack (edits, joins, topics).
_WRITTEN = frozenset({"thread_broadcast", "file_share", "me_message"})
_RECORDED = {"slack_audio": "voice", "slack_video": "video"}
_NOT_THERE = frozenset({"tombstone", "hidden_by_limit", "external"})
_FILE_ID = re.compile(r"F[A-Z0-9]{1,40}")
_TS = re.compile(r"([0-9]{1,12})\.([0-9]{1,9})")
# Slack escapes `<` everywhere else; a match that could run over one would take quadratic time.
_MENTION = re.compile(r"\s*<@([^<>|]+)(?:\|[^<>]*)?>[\s:,]*")
_LINK = re.compile(r"<(https?://|mailto:)([^<>|]+)(?:\|([^<>]*))?>")
_NAMED = re.compile(r"<([#!])(?:[^<>|^]*[\^])?([^<>|]+)(?:\|([^<>]*))?>")


def is_from_slack(headers: Mapping[str, str], raw: bytes, secret: str | None, *, now: int) -> bool:
    """Whether the raw bytes carry Slack's signature of the last five minutes. Never, while no secret is set."""
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not secret or not is_fresh(timestamp, now=now):
        return False
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + raw, hashlib.sha256).hexdigest()
    return is_equal(headers.get("x-slack-signature"), f"v0={digest}")


def parse(headers: Mapping[str, str], raw: bytes) -> Parsed:
    """The message or the press of a person, the answer to a handshake, or why the request is ignored."""
    try:
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return _parse_form(headers, parse_qs(raw.decode()))
        body = json.loads(raw)
        if body["type"] == "url_verification":
            return Parsed(answer=Answer({"challenge": str(body["challenge"])}))
        if body["type"] != "event_callback":
            return Parsed(ignored="a callback of another kind")
        return _parse_event(body)
    except UNREADABLE:
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
    shared = [entry for entry in event.get("attachments") or () if entry.get("is_share") is True]
    forwarded = "\n\n".join(filter(None, (_as_typed(entry.get("text") or "", []) for entry in shared)))
    found = [file for entry in (event, *shared) for file in _files(entry)]
    files = tuple(file for file in found if isinstance(file, ChatFile))
    kinds = [kind for kind in found if isinstance(kind, str)]
    if shared and not (forwarded or found):
        kinds = [OTHER]
    if not (text or forwarded or files or kinds):
        return Parsed(ignored="a message without text")
    place = _place(event["channel"], event.get("thread_ts"), event["ts"])
    message = _message(_sortable(event["ts"]), place, event["user"], text)
    return Parsed((replace(message, forwarded=forwarded, attachments=counted(kinds), files=files),))


def _files(entry: Mapping[str, Any]) -> Iterator[ChatFile | str]:
    """Each file; only its kind where Slack keeps it elsewhere or not at all. Of a shared channel it tells only the id."""
    for file in entry.get("files") or ():
        media_type = file.get("mimetype") or ""
        kind = _RECORDED.get(file.get("subtype")) or kind_of_media(media_type)
        if file.get("mode") in _NOT_THERE or not _FILE_ID.fullmatch(file.get("id") or ""):
            yield kind
        else:
            yield ChatFile(kind, file["id"], file.get("name") or "", media_type, file.get("size"))


def _parse_form(headers: Mapping[str, str], form: Mapping[str, list[str]]) -> Parsed:
    if "command" in form:
        return _parse_command(headers, form)
    if "payload" in form:
        return _parse_interaction(json.loads(form["payload"][0]))
    return Parsed(ignored="a form of another kind")


def _parse_interaction(payload: Mapping[str, Any]) -> Parsed:
    """A press of a button. Slack would show an answer with content, so this one is empty."""
    if payload["type"] != "block_actions" or payload["container"]["type"] != "message":
        return Parsed(answer=_EMPTY, ignored="an interaction of another kind")
    (action,) = payload["actions"]
    if action["type"] != "button":
        return Parsed(answer=_EMPTY, ignored="an interaction with another element")
    container, sender = payload["container"], payload["user"]["id"]
    _sortable(message := container["message_ts"])
    place = _place(container["channel_id"], container.get("thread_ts"), message)
    _check_ids(place, sender)
    pressed = Pressed(
        event_id=_sortable(action["action_ts"]),
        place=place,
        sender=sender,
        button=action["action_id"],
        message=message,
        handle=payload["response_url"],
        private=_is_private(place),
    )
    return Parsed((pressed,), _EMPTY)


def _place(channel: str, thread: str | None, ts: str) -> Place:
    """The message that a thread hangs on carries the thread, too, but is in the channel."""
    if thread is not None and not _TS.fullmatch(thread):
        raise ValueError("not a timestamp of Slack")
    return Place(SPEC.name, channel, thread if thread != ts else None)


def _parse_command(headers: Mapping[str, str], form: Mapping[str, list[str]]) -> Parsed:
    """A slash command. Slack sends it once, without the id of a message and without a thread."""
    # The second of the command sorts among messages; the trigger tells it from others of that second.
    trigger = int(hashlib.sha256(form["trigger_id"][0].encode()).hexdigest(), 16) % 1_000_000
    typed = " ".join([form["command"][0], *form.get("text", [])]).strip()
    event_id = _sortable(f"{headers['x-slack-request-timestamp']}.{trigger:06d}")
    place = Place(SPEC.name, form["channel_id"][0])
    inbound = _message(event_id, place, form["user_id"][0], html.unescape(typed))
    received = {"response_type": "ephemeral", "text": f"Got `{form['command'][0]}`; the answer comes here."}
    return Parsed((inbound,), Answer(received))


def _message(event_id: str, place: Place, sender: str, text: str) -> Inbound:
    _check_ids(place, sender)
    second = int(event_id.partition(".")[0])
    return Inbound(event_id, place, sender, text, private=_is_private(place), written_at=second * 1000)


def _check_ids(place: Place, sender: str) -> None:
    if not SPEC.is_chat_id(place.chat) or not SPEC.is_person_id(sender):
        raise ValueError("not an id of Slack")


def _is_private(place: Place) -> bool:
    return place.chat.startswith("D")


def _sortable(ts: str) -> str:
    match = _TS.fullmatch(ts)
    if match is None:
        raise ValueError("not a timestamp of Slack")
    return f"{int(match[1]):012d}.{match[2]:0<9}"


def _as_typed(text: str, ours: list[str]) -> str:
    """The text as the person typed it: without the bot's mention in front, with plain links, names and characters."""
    mention = _MENTION.match(text)
    text = text[mention.end() :] if mention and mention[1] in ours else text
    text = _LINK.sub(_link_as_typed, text)
    text = _NAMED.sub(lambda match: ("#" if match[1] == "#" else "@") + (match[3] or match[2]).lstrip("@#"), text)
    return html.unescape(text).strip()


def _link_as_typed(match: re.Match[str]) -> str:
    scheme, rest, label = match.groups()
    address = rest if scheme == "mailto:" else scheme + rest
    return address if not label or label in address else f"{label} ({address})"
