"""A model that speaks slowly: its words are shown while they come, in one message that one line is left of."""

import json
import re
import threading
from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.contracts.agent.streams import StreamedOpenAIDialect
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import EDITING
from tests.support.servers import HttpServer, Request, Response
from tests.support.waiting import eventually

WORD_EVERY = 0.2
STORY = "tell me a long story"
LAST = "and they lived happily ever after"


class Provider(HttpServer):
    """Streams: a story word by word until it is `told`, everything else at once."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.told = threading.Event()
        self.dialect = StreamedOpenAIDialect()

    def answer(self, request: Request) -> Response:
        said = json.dumps(request.json["messages"][-1]["content"])
        assert request.json["stream"] is True
        if STORY in said:
            return Response(pieces=self.story())
        return self.dialect.says(f"Confirmed: {said}")

    def story(self) -> Iterator[bytes]:
        head, last, end = self.dialect.pieces(LAST)
        yield head
        while not self.stopping.is_set() and not self.told.wait(WORD_EVERY):
            yield self.dialect.pieces("word ")[1]
        yield last + end


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture(scope="module")
def service(provider: Provider) -> Iterator[LocalService]:
    parameters = {"Agent": "openai", "AgentUrl": provider.url, "AgentModel": "any", "TurnLeaseSeconds": "9"}
    with LocalService(mode="in_process", parameters=parameters) as running:
        yield running


@pytest.fixture(autouse=True)
def _not_told(provider: Provider) -> None:
    provider.told.clear()


def words_in(texts: list[str]) -> int:
    return max((text.count("word") for text in texts), default=0)


@pytest.mark.parametrize("platform", EDITING)
def test_words_are_shown_edited_and_shrunk_and_the_reply_is_new(
    user: ApiUser, provider: Provider, platform: str
) -> None:
    thread = ChatThread(user, platform)
    assert len(thread.bot_texts()) == len(thread.bot_texts("Confirmed")), "a quick confirmation shows no progress"

    thread.say(STORY)
    first = thread.wait_for("word")
    eventually(lambda: words_in(thread.replies()) > words_in([first]), show=thread.bot_texts)
    assert len(thread.replies()) == 1, "it is edited"
    assert STORY not in thread.contents(), "nothing is committed yet"
    provider.told.set()
    thread.wait_for(LAST)
    eventually(lambda: "word" not in thread.replies()[0], show=thread.bot_texts)

    shrunk, reply = thread.replies()
    assert re.fullmatch(r"Answered in \d+ s\.", shrunk.strip())
    assert "Stopped" not in shrunk
    assert words_in([reply]) > words_in([first])
    assert thread.is_answered(STORY)
