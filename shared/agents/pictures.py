"""Pictures and documents of a conversation, for models that take them: the newest ones, within what a request may hold."""

from collections.abc import Mapping

from shared.agents.transcript.conversation import Conversation
from shared.ports.agents import TurnInput

MOST = 10
MOST_BYTES = 3_750_000
"""Of one picture: what Bedrock takes, and OpenAI takes more."""
MOST_TOGETHER = 12_000_000
PDF = "application/pdf"
MOST_DOCUMENTS = 5
"""Of a request to Bedrock. One of them may have 4.5 MB."""
_PDF_HEAD = b"%PDF-"


def pictures_of(conversation: Conversation, turn: TurnInput, *, sees: bool, reads: bool = False) -> Mapping[str, bytes]:
    """The bytes of pictures by the ids of their files; of PDF documents, too, for a model that `reads` them.

    What is gone or too large is left out: the text names it.
    """
    found: dict[str, bytes] = {}
    if not sees or turn.read_file is None:
        return found
    files = [file for entry in conversation.entries for file in entry.files]
    documents = 0
    for file in reversed(files):
        is_document = reads and file.media_type == PDF and documents < MOST_DOCUMENTS
        if not (file.is_picture or is_document):
            continue
        together = sum(map(len, found.values())) + file.size
        if file.id in found or file.size > MOST_BYTES or together > MOST_TOGETHER or len(found) >= MOST:
            continue
        content = turn.read_file(file)
        if content is not None and (file.is_picture or content.startswith(_PDF_HEAD)):
            found[file.id] = content
            documents += is_document
    return found
