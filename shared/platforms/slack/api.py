"""Calls to Slack through slack-sdk, with its errors as PlatformErrors. Imported on the first call."""

import logging
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected

_PAGE = 200
_MOST_PAGES = 10
_DEFAULT_RETRY_AFTER = 5.0  # for a rate limit that does not say how long
# A delivery has 30 s for three posts and two reads between them.
_SECONDS = 6
_TYPING_SECONDS = 4

_GONE = frozenset({"channel_not_found", "is_archived", "thread_not_found"})
# Errors after which the message may have been posted.
_UNSURE = frozenset({"fatal_error", "internal_error", "service_unavailable", "request_timeout", "team_added_to_org"})
_TOO_RICH = frozenset({"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "markdown_text_too_long"})
_ADVICE = {
    "not_in_channel": "The bot is not in this Slack channel. Invite it with /invite",
    "invalid_auth": "Slack does not accept the bot's token",
    "account_inactive": "Slack does not accept the bot's token",
    "token_revoked": "Slack does not accept the bot's token",
    "missing_scope": "The Slack app lacks a scope. Compare its scopes with docs/platforms/slack.md",
}

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
        if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
            # A proxy from the environment is for public addresses, not for a simulator on this machine.
            self._client.proxy = self._quick.proxy = None

    def post_seed(self, channel: str, title: str, mentions: str, metadata: Json) -> Json:
        """Post the first message of a thread: the title as plain text, and mentions of people."""
        blocks: list[dict[str, Any]] = [
            {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}
        ]
        if mentions:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": mentions}})
        summary = " ".join(filter(None, [title.translate(_ESCAPES), mentions]))  # what a notification shows
        return _call(
            lambda: self._client.chat_postMessage(channel=channel, text=summary, blocks=blocks, metadata=dict(metadata))
        )

    def post(self, channel: str, thread: str | None, markdown: str, metadata: Json) -> Json:
        """Post Markdown, or plain text if Slack refuses the Markdown."""
        shared: dict[str, Any] = {"channel": channel, "thread_ts": thread, "metadata": dict(metadata)}
        shared |= {"unfurl_links": False, "unfurl_media": False}
        try:
            return _call(lambda: self._client.chat_postMessage(markdown_text=markdown, **shared))
        except Rejected as error:
            if _code(error.__cause__) not in _TOO_RICH:
                raise
            return _call(lambda: self._client.chat_postMessage(text=markdown, mrkdwn=False, **shared))

    def update(self, channel: str, ts: str, markdown: str) -> None:
        _call(lambda: self._client.chat_update(channel=channel, ts=ts, markdown_text=markdown))

    def delete(self, channel: str, ts: str) -> None:
        _call(lambda: self._client.chat_delete(channel=channel, ts=ts))

    def messages(self, channel: str, thread: str | None) -> Iterator[Json]:
        """The messages of a thread, oldest first, or of a channel, newest first; at most _MOST_PAGES pages."""
        read = self._client.conversations_replies if thread else self._client.conversations_history
        more: dict[str, Any] = {"ts": thread} if thread else {}
        for _ in range(_MOST_PAGES):
            page = _call(lambda: read(channel=channel, limit=_PAGE, include_all_metadata=True, **more))
            yield from page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
            more["cursor"] = cursor

    def direct(self, person: str) -> str:
        """The channel of the direct messages with a person."""
        return str(_call(lambda: self._client.conversations_open(users=person))["channel"]["id"])

    def conversation(self, channel: str) -> Conversation:
        found = _call(lambda: self._client.conversations_info(channel=channel))["channel"]
        members = None
        if found.get("is_im"):
            members = frozenset([str(found["user"])])
        elif found.get("is_mpim"):
            members = frozenset(
                _call(lambda: self._client.conversations_members(channel=channel, limit=_PAGE))["members"]
            )
        return Conversation(str(found["id"]), bool(found.get("is_im")), members)

    def set_status(self, channel: str, thread: str, status: str) -> None:
        _call(lambda: self._quick.assistant_threads_setStatus(channel_id=channel, thread_ts=thread, status=status))

    def workspace_url(self) -> str:
        return str(_call(self._quick.auth_test)["url"])

    def who(self, *, seconds: float) -> tuple[Json, frozenset[str] | None]:
        """The bot behind the token, and the token's scopes if Slack returns them."""
        answer = _answer(self._with_timeout(seconds).auth_test)
        scopes = {name.lower(): value for name, value in answer.headers.items()}.get("x-oauth-scopes")
        return answer.data, None if scopes is None else frozenset(scope.strip() for scope in scopes.split(","))

    def direct_if_open(self, person: str, *, seconds: float) -> str:
        """The channel of the direct messages with a person, if it exists. Raises PlaceGone if not."""
        client = self._with_timeout(seconds)
        opened = _call(lambda: client.conversations_open(users=person, prevent_creation=True))
        if not (channel := (opened.get("channel") or {}).get("id")):
            raise PlaceGone("There are no direct messages with this person")
        return str(channel)

    def peek(self, channel: str, *, seconds: float) -> None:
        """Read one message of a channel, which only members may do."""
        client = self._with_timeout(seconds)
        _call(lambda: client.conversations_history(channel=channel, limit=1))

    def _with_timeout(self, seconds: float) -> WebClient:
        """A client with this time-out for each read of an answer."""
        usual = self._client
        client = WebClient(usual.token, base_url=usual.base_url, timeout=max(round(seconds), 1), retry_handlers=[])
        client.proxy = usual.proxy
        return client


def _call(call: Callable[[], Any]) -> Json:
    answer: Json = _answer(call).data
    return answer


def _answer(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except SlackApiError as error:
        raise _refusal(error) from error
    except (OSError, SlackClientError, ValueError) as error:
        raise _broken(error) from error


def _refusal(error: SlackApiError) -> PlatformError:
    status, headers = _status(error)
    code = _code(error)
    if status == 429 or code in ("ratelimited", "rate_limited"):
        wait = str(headers.get("Retry-After", ""))
        return RateLimited(float(wait) if wait.isdigit() else _DEFAULT_RETRY_AFTER)
    if status >= 500 or code in _UNSURE or code is None:
        return Ambiguous("Slack did not confirm the message")
    kind = PlaceGone if code in _GONE else Rejected
    return kind(_ADVICE.get(code, f"Slack says: {code}"))


def _broken(error: Exception) -> PlatformError:
    """Without a connection the call was not made; after any other failure it may have been."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)):
        return NotSent("Slack cannot be reached")
    return Ambiguous("The connection to Slack broke before it answered")


def _status(error: SlackApiError) -> tuple[int, Json]:
    response = error.response
    if isinstance(response, dict):  # the answer was not JSON
        return int(response["status"]), response["headers"]
    return response.status_code, response.headers


def _code(error: BaseException | None) -> str | None:
    response = error.response if isinstance(error, SlackApiError) else {}
    code = response.get("error")
    return code if isinstance(code, str) else None
