"""Read the answer of an OpenAI-compatible endpoint: a reply, a retry, or an error that explains itself."""

import re
from typing import Any, NoReturn

from shared.agents.answers import NOTHING, WANTED_TOOL, Stop, brief, refusal, reply_text
from shared.agents.attempts import ProviderBusy, TooLong, ToolsRefused, seconds_to_wait
from shared.agents.http_client import CUT_OFF, HttpResponse
from shared.agents.openai.stream import completion_of, is_stream
from shared.agents.transcript.repair import plain_text
from shared.errors import AgentFailed

BUSY = {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
STOPS: dict[str, Stop] = {"length": "length", "content_filter": "filter"}
RATE_LIMITED = "The agent's provider is over its rate limit."
OVERLOADED = "The agent's provider has an internal error."
NO_CREDIT = "The agent's account with its provider has no credit left. The operator must top it up."
REFUSED_KEY = "The agent's provider rejected the key. The operator must set a valid one as the secret agent/key."
NO_COMPLETION = (
    "The agent's address is not a chat completions endpoint. "
    "The operator must check HANDOFF_AGENT_URL; it usually ends in /v1."
)
_NO_CREDIT = re.compile(r"insufficient_quota|billing|credit|balance", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context_length|context (length|window|size)|too many tokens|(prompt|input|request)\b.{0,20}\btoo long",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_filter|content management policy", re.IGNORECASE)
_TEMPLATE = re.compile(r"jinja|template|roles must alternate|tool", re.IGNORECASE)
_STREAM = re.compile(r"\bstream", re.IGNORECASE)
_KEYS = re.compile(r"\b(sk|rk|gsk)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


def read_completion(answer: HttpResponse, *, model: str, key: str | None, now: int) -> str:
    """The reply. Raises the exceptions of attempts.py or AgentFailed, never with the key in the text."""
    body: Any = completion_of(answer.body) if is_stream(answer.body) else answer.json()
    error = body.get("error") if isinstance(body, dict) else None
    if answer.status != 200 or (error and not body.get("choices")):
        words = _words(body, key)
        # Some gateways answer 200 and put the status of the model's server into the error.
        code = error.get("code") if isinstance(error, dict) else None
        inner = code if isinstance(code, int) and code >= 400 else 500
        status = inner if answer.status == 200 else answer.status
        _refuse(status, words, model=model, after=seconds_to_wait(answer.headers, now=now))
    if not isinstance(body, dict):
        is_cut_off = is_stream(answer.body) or answer.body.lstrip()[:1] in (b"{", b"")
        raise ProviderBusy(CUT_OFF) if is_cut_off else AgentFailed(NO_COMPLETION)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise AgentFailed(NO_COMPLETION)
    return _spoken(choice)


def refuses_to_stream(answer: HttpResponse) -> bool:
    """Whether the provider streams nothing for this model or this account."""
    return answer.status in (400, 403, 404, 405, 422, 501) and bool(_STREAM.search(_words(answer.json(), None)))


def _spoken(choice: dict[str, Any]) -> str:
    message, reason = choice["message"], str(choice.get("finish_reason"))
    text = plain_text(message.get("content"))
    if reason == "error":
        raise ProviderBusy(OVERLOADED)
    if not text.strip() and message.get("refusal"):
        raise refusal(plain_text(message["refusal"]))
    if not text.strip() and message.get("tool_calls"):
        raise ToolsRefused(WANTED_TOOL)
    return reply_text(text, STOPS.get(reason, "done"))


def _refuse(status: int, words: str, *, model: str, after: float | None) -> NoReturn:
    if status in (401, 403):  # the provider's own words may quote parts of the key
        raise AgentFailed(REFUSED_KEY)
    if status == 402 or (status == 429 and _NO_CREDIT.search(words)):
        raise AgentFailed(NO_CREDIT)
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(words)):
        raise TooLong
    if status == 400 and _FILTERED.search(words):
        raise AgentFailed(NOTHING["filter"])
    if status in (400, 422) or (status == 500 and _TEMPLATE.search(words)):
        raise ToolsRefused(f"The agent's provider rejected the request: {brief(words)}")
    if status in BUSY or status > 500:
        raise ProviderBusy(RATE_LIMITED if status == 429 else OVERLOADED, after)
    if status == 404:
        raise AgentFailed(
            f"The agent's provider has no model {model!r} at this address. "
            "The operator must check HANDOFF_AGENT_MODEL and HANDOFF_AGENT_URL (it usually ends in /v1)."
        )
    raise AgentFailed(NO_COMPLETION)


def _words(body: Any, key: str | None) -> str:
    """The provider's explanation, wherever the body has it, without anything that looks like a key."""
    said = body.get("error") or body.get("detail") or body if isinstance(body, dict) else ""
    if isinstance(said, dict):
        said = " ".join(str(said[name]) for name in ("message", "code", "type") if said.get(name))
    text = str(said).replace(key, "***") if key else str(said)
    return _KEYS.sub("***", text) or "it gave no reason"
