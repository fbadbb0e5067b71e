"""Any OpenAI-compatible chat completions endpoint, by base URL, key and model."""

import json
import ssl
import time
from collections.abc import Callable, Sequence
from functools import cached_property

import httpx

from shared.agents.attempts import converse
from shared.agents.conversation import Conversation
from shared.agents.openai_answers import read_completion
from shared.agents.openai_messages import to_openai
from shared.agents.post import agent_key, new_client, post
from shared.domain.messages import Message
from shared.errors import AgentFailed
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
NO_MODEL = "No model is set for this agent. Whoever runs this service names one in HANDOFF_AGENT_MODEL."


class OpenAIAgent:
    """OpenAI, OpenRouter, Ollama, vLLM, LM Studio and their kin. The key is optional: local servers want none."""

    def __init__(
        self, settings: Settings, secrets: Secrets, clock: Clock, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = _completions_url(settings.agent_url or OPENAI_URL)
        self._model = settings.agent_model
        self._window = settings.agent_window
        self._secrets = secrets
        self._clock = clock
        self._pause = pause

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def reply(self, messages: Sequence[Message], *, note: str | None, deadline: int) -> str:
        """Ask the model. Raises AgentUnavailable or AgentFailed; no text of theirs holds the key."""
        if not self._model:
            raise AgentFailed(NO_MODEL)
        key = agent_key(self._secrets)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        with new_client(self._context) as client:

            def ask(given: Conversation) -> str:
                body = json.dumps({"model": self._model, "messages": to_openai(given)}).encode()
                answer = post(client, self._url, body, headers, deadline=deadline, clock=self._clock)
                return read_completion(answer, model=self._model, key=key, now=self._clock.now())

            return converse(
                ask,
                messages,
                note=note,
                window=self._window,
                deadline=deadline,
                clock=self._clock,
                pause=self._pause,
            )


def _completions_url(base: str) -> str:
    path = "/chat/completions"
    base = base.rstrip("/")
    return base if base.endswith(path) else base + path
