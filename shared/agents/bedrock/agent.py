"""A model on Amazon Bedrock through Converse, authorised by the function's role."""

from collections.abc import Callable
from typing import Any

from shared.agents.answers import NO_MODEL, said_so_far
from shared.agents.attempts import ProviderBusy, ServerAgent
from shared.agents.bedrock.answers import BUSY, error_of, read_answer, refuses_to_stream
from shared.agents.bedrock.messages import to_converse
from shared.agents.cancelling import Opened, cancellable
from shared.agents.pictures import pictures_of
from shared.agents.transcript.conversation import Conversation
from shared.aws.bedrock import Bedrock, ConverseFailed
from shared.errors import AgentFailed
from shared.ports.agents import Listener, TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings


class BedrockAgent(ServerAgent):
    """Any model of Converse. HANDOFF_AGENT_URL, if set, replaces the endpoint (for a VPC endpoint or a test)."""

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        super().__init__(settings, secrets, clock)
        self._bedrock = Bedrock(settings.agent_url)
        self._may_stream = True

    def asking(self, turn: TurnInput) -> Callable[[Conversation], str]:
        """The model streams its answer if there is progress to show."""
        model = turn.model or self._settings.agent_model
        if not model:
            raise AgentFailed(NO_MODEL)

        def ask(given: Conversation) -> str:
            pictures = pictures_of(given, turn, sees=self._settings.agent_sees, reads=self._settings.agent_reads)
            request = {"modelId": model, **to_converse(given, pictures)}
            try:
                return read_answer(self._ask(request, turn))
            except ConverseFailed as error:
                raise error_of(error, now=self._clock.now()) from error

        return ask

    def _ask(self, request: dict[str, Any], turn: TurnInput) -> dict[str, Any]:
        """The answer, streamed if it can be. Raises ConverseFailed, ProviderBusy or AgentCancelled."""
        on_text = _shown_to(turn.progress) if turn.progress and self._may_stream else None

        def left() -> float:
            return (turn.deadline - self._clock.now()) / 1000

        def call(opened: Opened) -> dict[str, Any]:
            return self._bedrock.converse(request, seconds=max(0.001, left()), opened=opened, on_text=on_text)

        try:
            return cancellable(call, turn.cancellation, left=left)
        except TimeoutError as error:
            raise ProviderBusy(BUSY["Unreachable"]) from error
        except ConverseFailed as error:
            if on_text is None or not refuses_to_stream(error):
                raise
        self._may_stream = False
        return self._ask(request, turn)


def _shown_to(progress: Listener) -> Callable[[str], None]:
    def on_text(text: str) -> None:
        if said := said_so_far(text):
            progress(said)

    return on_text
