"""Any OpenAI-compatible chat completions endpoint, by base URL, key and model."""

import json
from collections.abc import Sequence

from shared.agents.answers import NO_MODEL
from shared.agents.http_client import HttpConversations, Post, agent_key
from shared.agents.openai.answers import read_completion, refuses_to_stream
from shared.agents.openai.messages import to_openai
from shared.agents.openai.stream import CompletionStream
from shared.agents.transcript.conversation import Conversation
from shared.domain.messages import Message
from shared.errors import AgentFailed
from shared.ports.agents import Cancellation, Listener
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIAgent:
    """OpenAI, OpenRouter, Ollama, vLLM, LM Studio and others. The key is optional, because local servers need none."""

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        self._url = _completions_url(settings.agent_url or OPENAI_URL)
        self._model = settings.agent_model
        self._secrets = secrets
        self._clock = clock
        self._may_stream = True
        self._conversations = HttpConversations(settings.agent_window, clock)

    def reply(
        self,
        messages: Sequence[Message],
        *,
        note: str | None,
        deadline: int,
        cancellation: Cancellation,
        progress: Listener | None = None,
    ) -> str:
        """Ask the model, which streams its answer if `progress` is given.

        Raises AgentUnavailable, AgentFailed or AgentCancelled, never with the key in the text.
        """
        if not self._model:
            raise AgentFailed(NO_MODEL)
        key = agent_key(self._secrets)
        headers = {"authorization": f"Bearer {key}"} if key else {}

        def ask(given: Conversation, post: Post) -> str:
            body = {"model": self._model, "messages": to_openai(given)}
            stream = CompletionStream(progress) if progress and self._may_stream else None
            asked = {**body, "stream": True} if stream else body
            answer = post(self._url, json.dumps(asked).encode(), headers, stream)
            if stream and refuses_to_stream(answer):
                self._may_stream = False
                answer = post(self._url, json.dumps(body).encode(), headers)
            return read_completion(answer, model=self._model, key=key, now=self._clock.now())

        return self._conversations.reply(ask, messages, note=note, deadline=deadline, cancellation=cancellation)


def _completions_url(base: str) -> str:
    path = "/chat/completions"
    base = base.rstrip("/")
    return base if base.endswith(path) else base + path
