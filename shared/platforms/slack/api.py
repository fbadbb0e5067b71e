"""Calls to Slack through slack-sdk, with its errors as PlatformErrors. Imported on the first call."""

import logging
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.webhook import WebhookClient

from shared.domain.files import ChatFile, OutFile
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import Shape, check, fits, retry_after
from shared.platforms.downloads import check_size, reference_of
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.slack.blocks import as_blocks, as_plain_blocks
from shared.platforms.slack.files import FileBytes
from shared.platforms.spec import is_loopback
from shared.ports.platforms import Button

_PAGE = 200
_MOST_PAGES = 10
# A delivery has 30 s for three posts and two reads between them.
_SECONDS = 6
_TYPING_SECONDS = 4
_RESPOND_SECONDS = 2  # a press is answered while Slack waits for the webhook, for 3 s
_SHARE_TRIES, _SHARE_PAUSE = 3, 0.3  # Slack shows a file in its channel some moments after it has accepted it
_SUMMARY_LIMIT = 1_000  # of the text that notifications and screen readers use in place of blocks

_GONE = frozenset({"channel_not_found", "is_archived", "thread_not_found"})
# Errors after which the message may have been posted.
_UNSURE = frozenset({"fatal_error", "internal_error", "service_unavailable", "request_timeout", "team_added_to_org"})
_TOO_RICH = frozenset({"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "markdown_text_too_long"})
_ADVICE = {
    "not_in_channel": "The bot is not in this Slack channel. Invite it with /invite",
    "invalid_auth": "Slack does not accept the bot's token",
    "account_inactive": "Slack does not accept the bot's token",
    "token_revoked": "Slack does not accept the bot's token",
    "file_not_found": "The file is no longer there",
    "file_deleted": "The file is no longer there",
    "file_uploads_disabled": "This Slack workspace takes no files",
    "missing_scope": "The Slack app lacks a scope. Compare its scopes with docs/platforms/slack.md",
}

_FILE_ID = re.compile(r"F[A-Z0-9]{1,40}")
_MESSAGES = {
    "messages": [{"ts": str, "user?": str, "metadata?": dict | None, "files?": ([{"name?": str | None}], type(None))}],
    "response_metadata?": {"next_cursor?": str},
}
# What is read of the answer to each method of the SDK.
_SHAPES: Mapping[str, Shape] = {
    "assistant_threads_setStatus": None,
    "apps_connections_open": None,
    "auth_test": {"url": str, "user_id": str, "user?": str, "team?": str, "team_id?": str},
    "chat_delete": None,
    "chat_postMessage": {"channel": str, "ts": str, "message": {"thread_ts?": str}},
    "chat_update": None,
    "conversations_history": _MESSAGES,
    "conversations_info": {"channel": {"id": str, "is_im": bool, "is_mpim?": bool, "user?": str}},
    "conversations_members": {"members": [str]},
    "conversations_open": {"channel?": ({"id?": str}, type(None))},
    "conversations_replies": _MESSAGES,
    "files_completeUploadExternal": {"files": [{"id": _FILE_ID}]},
    "files_getUploadURLExternal": {"upload_url": str, "file_id": _FILE_ID},
    "files_info": {"file": {"id": _FILE_ID, "url_private_download?": str, "url_private?": str, "shares?": dict}},
}
_CHANGES = frozenset({"chat_postMessage", "chat_update", "chat_delete", "files_completeUploadExternal"})
_CODE = re.compile(r"[a-z][a-z0-9_]{1,60}")  # the SDK also puts pages that are not JSON where the code should be

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Conversation:
    """A channel; `members` only of direct messages, with one person (`is_direct`) or several."""

    id: str
    is_direct: bool
    members: frozenset[str] | None


class Api:
    """One app in one workspace. Every method blocks, raises only PlatformErrors, and may be called from several threads."""

    def __init__(self, url: str, token: str, *, seconds: int = _SECONDS) -> None:
        logging.getLogger("slack_sdk").setLevel(logging.CRITICAL)  # at DEBUG it logs what people say
        # The SDK's retries may post twice; the delivery reads back before it retries.
        self._client = WebClient(token, base_url=url, timeout=seconds, retry_handlers=[])
        self._quick = WebClient(token, base_url=url, timeout=_TYPING_SECONDS, retry_handlers=[])
        if is_loopback(url):
            self._client.proxy = self._quick.proxy = None
        self._files = FileBytes(url, token)

    def post_seed(self, channel: str, title: str, mentions: str, metadata: Json) -> Json:
        """Post the first message of a thread: the title as plain text, and mentions of people."""
        blocks: list[dict[str, Any]] = [
            {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}
        ]
        if mentions:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": mentions}})
        summary = " ".join(filter(None, [title.translate(_ESCAPES), mentions]))  # what a notification shows
        return _call(
            self._client.chat_postMessage, channel=channel, text=summary, blocks=blocks, metadata=dict(metadata)
        )

    def post(
        self, channel: str, thread: str | None, markdown: str, metadata: Json, buttons: Sequence[Button] = ()
    ) -> Json:
        """Post Markdown, or plain text if Slack refuses the Markdown."""
        shared: dict[str, Any] = {"channel": channel, "thread_ts": thread, "metadata": dict(metadata)}
        shared |= {"unfurl_links": False, "unfurl_media": False}
        if buttons:
            return _call_with_blocks(self._client.chat_postMessage, markdown, buttons, **shared)
        try:
            return _call(self._client.chat_postMessage, markdown_text=markdown, **shared)
        except Rejected as error:
            if _code(error.__cause__) not in _TOO_RICH:
                raise
            return _call(self._client.chat_postMessage, text=markdown, mrkdwn=False, **shared)

    def upload(self, file: OutFile, name: str) -> str:
        """Store a file at Slack under a name; returns its id. Nothing is posted by this."""
        made = _call(self._client.files_getUploadURLExternal, filename=name, length=file.size)
        self._files.put(made["upload_url"], file, name)
        return str(made["file_id"])

    def share(self, channel: str, thread: str | None, file: Json, comment: str) -> None:
        """Post an uploaded file, by `id` and `title`."""
        text = comment.translate(_ESCAPES) or None
        shared = {"channel_id": channel, "thread_ts": thread, "initial_comment": text}
        _call(self._client.files_completeUploadExternal, files=[dict(file)], **shared)

    def share_of(self, file: str, channel: str) -> Json | None:
        """The message that shows the file in the channel: `ts`, and `thread_ts` if it is in a thread; None if not known."""
        for tried in range(_SHARE_TRIES):
            time.sleep(_SHARE_PAUSE * bool(tried))
            try:
                shares = _call(self._quick.files_info, file=file)["file"].get("shares") or {}
            except PlatformError:
                return None
            for kind in ("public", "private"):
                if fits(shares.get(kind), {channel: [{"ts": str, "thread_ts?": str}]}) and shares[kind][channel]:
                    return dict(shares[kind][channel][0])
        return None

    def fetch_file(self, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        reference = reference_of(file, _FILE_ID.pattern)
        check_size(file, limit)
        found = _call(self._client.files_info, file=reference)["file"]
        url = found.get("url_private_download") or found.get("url_private") or ""
        return self._files.get(url, file, limit=limit)

    def update(self, channel: str, ts: str, markdown: str, buttons: Sequence[Button] = ()) -> None:
        """Replace a message. Always with blocks: what another form leaves of earlier blocks is not documented."""
        _call_with_blocks(self._client.chat_update, markdown, buttons, channel=channel, ts=ts)

    def respond(self, url: str, thread: str | None, text: str) -> None:
        """Show a text to the person who pressed, by the URL that came with the press. Raises anything."""
        client = WebhookClient(url, timeout=_RESPOND_SECONDS, retry_handlers=[])
        client.proxy = self._client.proxy
        shown = as_title(text, _SUMMARY_LIMIT).translate(_ESCAPES)
        body = {"response_type": "ephemeral", "replace_original": False, "text": shown}
        client.send_dict({**body, **({"thread_ts": thread} if thread else {})})

    def delete(self, channel: str, ts: str) -> None:
        _call(self._client.chat_delete, channel=channel, ts=ts)

    def messages(self, channel: str, thread: str | None) -> Iterator[Json]:
        """The messages of a thread, oldest first, or of a channel, newest first; at most _MOST_PAGES pages."""
        read = self._client.conversations_replies if thread else self._client.conversations_history
        more: dict[str, Any] = {"ts": thread} if thread else {}
        for _ in range(_MOST_PAGES):
            page = _call(read, channel=channel, limit=_PAGE, include_all_metadata=True, **more)
            yield from page["messages"]
            cursor = page.get("response_metadata", {}).get("next_cursor")
            if not cursor:
                return
            more["cursor"] = cursor

    def direct(self, person: str) -> str:
        """The channel of the direct messages with a person."""
        opened = _call(self._client.conversations_open, users=person)
        if not (channel := _channel_id(opened)):
            raise NotSent("Slack did not name the direct messages with this person")
        return channel

    def conversation(self, channel: str) -> Conversation:
        found = _call(self._client.conversations_info, channel=channel)["channel"]
        members = None
        if found.get("is_im"):
            members = frozenset([str(found.get("user"))])
        elif found.get("is_mpim"):
            members = frozenset(_call(self._client.conversations_members, channel=channel, limit=_PAGE)["members"])
        return Conversation(str(found["id"]), bool(found.get("is_im")), members)

    def set_status(self, channel: str, thread: str, status: str) -> None:
        _call(self._quick.assistant_threads_setStatus, channel_id=channel, thread_ts=thread, status=status)

    def me(self) -> Json:
        """The bot's `user_id`, and the `url` of its workspace."""
        return _call(self._quick.auth_test)

    def who(self, *, seconds: float) -> tuple[Json, frozenset[str] | None]:
        """The bot behind the token, and the token's scopes if Slack returns them."""
        answer = _answer(self._with_timeout(seconds).auth_test)
        scopes = {name.lower(): value for name, value in answer.headers.items()}.get("x-oauth-scopes")
        return answer.data, None if scopes is None else frozenset(scope.strip() for scope in scopes.split(","))

    def open_connection(self, *, seconds: float) -> None:
        """Try an app-level token: ask for the address of a connection, and do not use it."""
        client = self._with_timeout(seconds)
        _call(client.apps_connections_open, app_token=client.token)

    def direct_if_open(self, person: str, *, seconds: float) -> str:
        """The channel of the direct messages with a person, if it exists. Raises PlaceGone if not."""
        client = self._with_timeout(seconds)
        opened = _call(client.conversations_open, users=person, prevent_creation=True)
        if not (channel := _channel_id(opened)):
            raise PlaceGone("There are no direct messages with this person")
        return channel

    def peek(self, channel: str, *, seconds: float) -> None:
        """Read one message of a channel, which only members may do."""
        client = self._with_timeout(seconds)
        _call(client.conversations_history, channel=channel, limit=1)

    def close(self) -> None:
        """Each call of the SDK has a connection of its own; those for files are closed."""
        self._files.close()

    def _with_timeout(self, seconds: float) -> WebClient:
        """A client with this time-out for each read of an answer."""
        usual = self._client
        client = WebClient(usual.token, base_url=usual.base_url, timeout=max(round(seconds), 1), retry_handlers=[])
        client.proxy = usual.proxy
        return client


def _channel_id(opened: Json) -> str | None:
    channel_id: str | None = (opened.get("channel") or {}).get("id")
    return channel_id


def _call_with_blocks(call: Callable[..., Any], markdown: str, buttons: Sequence[Button], **arguments: Any) -> Json:
    """With the text as Markdown, or as plain text if Slack refuses the Markdown."""
    summary = as_title(markdown, _SUMMARY_LIMIT).translate(_ESCAPES)
    try:
        return _call(call, text=summary, blocks=as_blocks(markdown, buttons), **arguments)
    except Rejected as error:
        if _code(error.__cause__) not in _TOO_RICH:
            raise
        return _call(call, text=summary, blocks=as_plain_blocks(markdown, buttons), **arguments)


def _call(call: Callable[..., Any], **arguments: Any) -> Json:
    answer: Json = _answer(call, **arguments).data
    return answer


def _answer(call: Callable[..., Any], **arguments: Any) -> Any:
    """The only place that reads answers. Raises PlatformErrors, and quotes nothing of an answer that it cannot read."""
    name = call.__name__
    try:
        answer = call(**arguments)
        check(answer.data, _SHAPES[name])
    except SlackApiError as error:
        if isinstance(refusal := _refusal(error, name), Rejected):
            raise refusal from error
        raise refusal from None
    except (OSError, SlackClientError) as error:
        raise _broken(error, name) from None
    except Exception as error:  # noqa: BLE001  # the SDK reads answers unchecked: an odd one raises anything
        raise _lost(f"Slack's answer could not be read ({type(error).__name__})", name) from None
    return answer


def _lost(why: str, name: str) -> PlatformError:
    """The error for a call without a readable answer: one that only reads had no effect."""
    return Ambiguous(why) if name in _CHANGES else NotSent(why)


def _refusal(error: SlackApiError, name: str) -> PlatformError:
    status, headers = error.response.status_code, error.response.headers
    code = _code(error)
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return RateLimited(retry_after(headers.get("Retry-After")))
    if status >= 500 or code in _UNSURE or code is None:
        return _lost("Slack did not confirm the call", name)
    kind = PlaceGone if code in _GONE else Rejected
    return kind(_ADVICE.get(code, f"Slack says: {code}"))


def _broken(error: Exception, name: str) -> PlatformError:
    """Without a connection the call was not made; after any other failure it may have been."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)):
        return NotSent("Slack cannot be reached")
    return _lost("The connection to Slack broke before it answered", name)


def _code(error: BaseException | None) -> str | None:
    """Slack's code for a refusal, if the answer has one."""
    answer = error.response.data if isinstance(error, SlackApiError) else None
    code = answer.get("error") if isinstance(answer, dict) else None
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None
