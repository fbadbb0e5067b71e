"""The agent that answers messages."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.messages import Message


class Agent(Protocol):
    """Answers messages; it sees the whole transcript with its roles."""

    def reply(self, messages: Sequence[Message], *, note: str | None, deadline: int) -> str:
        """Answer the last message before `deadline` (milliseconds). `note` is for the agent only and not stored.

        Raises AgentUnavailable (temporary) or AgentFailed (permanent), never with a secret in the text.
        """
