"""Whatever answers."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.messages import Message


class Agent(Protocol):
    """Whatever answers. It sees the whole role-aware transcript."""

    def reply(self, messages: Sequence[Message], *, note: str | None, deadline: int) -> str:
        """Answer the last message before `deadline` (milliseconds). `note` is for the agent's eyes, never stored.

        Raises AgentUnavailable (worth another try) or AgentFailed (not), never with a secret in the text.
        """
