"""A model on Amazon Bedrock through Converse, authorised by the function's role."""

import time
from collections.abc import Callable, Sequence

from shared.agents.answers import NO_MODEL
from shared.agents.attempts import converse
from shared.agents.bedrock.answers import error_of, read_answer
from shared.agents.bedrock.messages import to_converse
from shared.agents.transcript.conversation import Conversation
from shared.aws.bedrock import Bedrock, ConverseFailed
from shared.domain.messages import Message
from shared.errors import AgentFailed
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings


class BedrockAgent:
    """Any model of Converse. HANDOFF_AGENT_URL, if set, replaces the endpoint (for a VPC endpoint or a test)."""

    def __init__(
        self, settings: Settings, secrets: Secrets, clock: Clock, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        del secrets  # all agents take the same arguments; this one has a role instead
        self._model = settings.agent_model
        self._window = settings.agent_window
        self._bedrock = Bedrock(settings.agent_url)
        self._clock = clock
        self._pause = pause

    def reply(self, messages: Sequence[Message], *, note: str | None, deadline: int) -> str:
        """Ask the model. Raises AgentUnavailable or AgentFailed."""
        if not self._model:
            raise AgentFailed(NO_MODEL)

        def ask(given: Conversation) -> str:
            seconds = max(0.001, (deadline - self._clock.now()) / 1000)
            try:
                answer = self._bedrock.converse({"modelId": self._model, **to_converse(given)}, seconds=seconds)
            except ConverseFailed as error:
                raise error_of(error, now=self._clock.now()) from error
            return read_answer(answer)

        return converse(
            ask, messages, note=note, window=self._window, deadline=deadline, clock=self._clock, pause=self._pause
        )
