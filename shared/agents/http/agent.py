"""The operator's own agent behind a URL: signed messages in, text out. The contract is docs/agents.md."""

import hashlib
import hmac
import json
from collections.abc import Callable

from shared.agents.answers import brief, reply_text
from shared.agents.attempts import ProviderBusy, ServerAgent, TooLong, seconds_to_wait
from shared.agents.http_client import CUT_OFF, HttpClient, HttpResponse, agent_key
from shared.agents.openai.messages import to_openai
from shared.agents.transcript.conversation import Conversation
from shared.domain.messages import digest
from shared.errors import AgentFailed
from shared.ports.agents import TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

NO_URL = "No address is set for this agent. The operator must set HANDOFF_AGENT_URL."
NO_KEY = "No key is set for this agent, so requests cannot be signed. The operator must set the secret agent/key."
REFUSED_SIGNATURE = (
    "The agent rejected this service's signature. The operator must check the key and the clock of both sides."
)
BUSY = "The agent is busy."
TROUBLE = "The agent has an internal error."
NO_REPLY = "The agent's answer has no `text`. The operator must compare it with docs/agents.md."


class HttpAgent(ServerAgent):
    """Posts the conversation in OpenAI's message format. A repeated turn has the same idempotency key."""

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        super().__init__(settings, secrets, clock)
        self._client = HttpClient(clock)

    def asking(self, turn: TurnInput) -> Callable[[Conversation], str]:
        """The answer comes in one piece, so there is no progress."""
        url = self._settings.agent_url
        if not url:
            raise AgentFailed(NO_URL)
        key = agent_key(self._secrets)
        if not key:
            raise AgentFailed(NO_KEY)
        idempotency_key = digest(turn.messages).removeprefix("sha256:")

        def ask(given: Conversation) -> str:
            body = request_body(given, deadline=turn.deadline, idempotency_key=idempotency_key)
            timestamp = str(self._clock.now() // 1000)
            headers = {
                "x-handoff-timestamp": timestamp,
                "x-handoff-signature": signature(key, timestamp, body),
                "idempotency-key": idempotency_key,
            }
            return read_answer(self._client.post(turn, url, body, headers), key=key, now=self._clock.now())

        return ask


def request_body(given: Conversation, *, deadline: int, idempotency_key: str) -> bytes:
    """The request body of docs/agents.md; the note is not one of the messages."""
    return json.dumps(
        {
            "messages": to_openai(given, note=False),
            "note": given.note or None,
            "deadline": deadline,
            "idempotency_key": idempotency_key,
        }
    ).encode()


def signature(key: str, timestamp: str, body: bytes) -> str:
    """`sha256=<hex>`: HMAC-SHA256 under the key over timestamp, a dot and the raw body."""
    signed = hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


def read_answer(answer: HttpResponse, *, key: str, now: int) -> str:
    """The reply. Raises the exceptions of attempts.py or AgentFailed, never with the key in the text."""
    body = answer.json()
    if answer.status == 200:
        if body is None:
            raise ProviderBusy(CUT_OFF)
        if not isinstance(body, dict) or not isinstance(body.get("text"), str):
            raise AgentFailed(NO_REPLY)
        return reply_text(body["text"])
    if answer.status in (401, 403):
        raise AgentFailed(REFUSED_SIGNATURE)
    if answer.status == 413:
        raise TooLong
    if answer.status in (408, 409, 425, 429) or answer.status >= 500:
        raise ProviderBusy(TROUBLE if answer.status >= 500 else BUSY, seconds_to_wait(answer.headers, now=now))
    said = body.get("error") if isinstance(body, dict) else None
    why = brief(said.replace(key, "***")) if isinstance(said, str) and said else f"status {answer.status}."
    raise AgentFailed(f"The agent could not answer: {why}")
