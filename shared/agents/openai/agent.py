"""Any OpenAI-compatible chat completions endpoint, by base URL, key and model."""

import json
from collections.abc import Callable

from shared.agents.answers import NO_MODEL
from shared.agents.attempts import ServerAgent
from shared.agents.http_client import HttpClient, agent_key
from shared.agents.openai.answers import read_completion, refuses_to_stream
from shared.agents.openai.messages import to_openai
from shared.agents.openai.stream import CompletionStream
from shared.agents.pictures import pictures_of
from shared.agents.transcript.conversation import Conversation
from shared.errors import AgentFailed
from shared.ports.agents import TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIAgent(ServerAgent):
    """OpenAI, OpenRouter, Ollama, vLLM, LM Studio and others. The key is optional, because local servers need none."""

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        super().__init__(settings, secrets, clock)
        self._url = _completions_url(settings.agent_url or OPENAI_URL)
        self._client = HttpClient(clock)
        self._may_stream = True

    def asking(self, turn: TurnInput) -> Callable[[Conversation], str]:
        """The model streams its answer if there is progress to show."""
        model, progress = turn.model or self._settings.agent_model, turn.progress
        if not model:
            raise AgentFailed(NO_MODEL)
        key = agent_key(self._secrets)
        headers = {"authorization": f"Bearer {key}"} if key else {}

        def ask(given: Conversation) -> str:
            pictures = pictures_of(given, turn, sees=self._settings.agent_sees)
            body = {"model": model, "messages": to_openai(given, pictures=pictures)}
            stream = CompletionStream(progress) if progress and self._may_stream else None
            asked = {**body, "stream": True} if stream else body
            answer = self._client.post(turn, self._url, json.dumps(asked).encode(), headers, stream)
            if stream and refuses_to_stream(answer):
                self._may_stream = False
                answer = self._client.post(turn, self._url, json.dumps(body).encode(), headers)
            return read_completion(answer, model=model, key=key, now=self._clock.now())

        return ask


def _completions_url(base: str) -> str:
    path = "/chat/completions"
    base = base.rstrip("/")
    return base if base.endswith(path) else base + path
