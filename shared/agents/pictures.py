"""Pictures of a conversation, for models that take them: the newest ones, within what a request may hold."""

from collections.abc import Mapping

from shared.agents.transcript.conversation import Conversation
from shared.ports.agents import TurnInput

MOST = 10
MOST_BYTES = 3_750_000
"""Of one picture: what Bedrock takes, and OpenAI takes more."""
MOST_TOGETHER = 12_000_000


def pictures_of(conversation: Conversation, turn: TurnInput, *, sees: bool) -> Mapping[str, bytes]:
    """The bytes of pictures by the ids of their files. What is gone or too large is left out: the text names it."""
    found: dict[str, bytes] = {}
    if not sees or turn.read_file is None:
        return found
    files = [file for entry in conversation.entries for file in entry.files if file.is_picture]
    for file in reversed(files):
        together = sum(map(len, found.values())) + file.size
        if file.id in found or file.size > MOST_BYTES or together > MOST_TOGETHER or len(found) >= MOST:
            continue
        content = turn.read_file(file)
        if content is not None:
            found[file.id] = content
    return found
