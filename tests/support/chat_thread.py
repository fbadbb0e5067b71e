"""A session that was handed off, and its thread in the simulator."""

import uuid
from typing import Any

from tests.support.api_user import ApiUser
from tests.support.platform_cases import DEFAULT_PLATFORM, SHARED_CHATS, chat_of
from tests.support.waiting import eventually


class ChatThread:
    """Hands a new session off on creation; `chat` is the user's home unless given."""

    def __init__(
        self, user: ApiUser, platform: str = DEFAULT_PLATFORM, chat: str | None = None, *, count: int = 4, **more: Any
    ) -> None:
        self.user, self.platform = user, platform
        self.title = f"{platform} {uuid.uuid4().hex[:8]}"
        self.session_id = user.create_session(count, self.title)
        self.handoff = user.hand_off(self.session_id, platform, target=chat, **more)
        assert (self.handoff["state"], self.handoff["error"]) == ("completed", None), self.handoff
        self.route: str = self.handoff["session"]["owner"]
        (thread,) = user.threads(self.title, platform)
        self.chat, self.id = str(thread["chat"]), str(thread["id"])

    def say(self, text: str, user: str = "owner", **beside: Any) -> None:
        """A person who cannot write in the thread writes to the bot alone. `beside`: as in POST /say of the simulator."""
        chat = chat_of(self.platform, user, self.chat)
        thread = self.id if chat == self.chat else None
        self.user.service.simulator.say(self.platform, chat, text, thread=thread, user=user, **beside)

    def bot_texts(self, containing: str = "") -> list[str]:
        """What the bot posted in the thread."""
        threads = self.user.threads(self.title, self.platform)
        messages = [message for thread in threads for message in thread["messages"]]
        return [message["text"] for message in messages if message["from"] == "bot" and containing in message["text"]]

    def replies(self, containing: str = "") -> list[str]:
        """What the bot posted after the confirmation."""
        texts = self.bot_texts()
        confirmed = next(number for number, text in enumerate(texts) if "Confirmed" in text)
        return [text for text in texts[confirmed + 1 :] if containing in text]

    def wait_for(self, text: str, *, within: float = 20.0) -> str:
        """The first reply that contains `text`."""
        return eventually(lambda: self.replies(text), within=within, show=self.bot_texts)[0]

    def contents(self) -> list[str]:
        """The contents of the transcript's messages."""
        return self.user.contents(self.session_id)

    def is_answered(self, text: str) -> bool:
        """Whether the transcript contains `text` once, followed by a message."""
        contents = self.contents()
        return contents.count(text) == 1 and contents[-1] != text

    def session(self) -> dict[str, Any]:
        return self.user.session(self.session_id)


def shared_thread(user: ApiUser, platform: str = DEFAULT_PLATFORM, **more: Any) -> ChatThread:
    """A thread in a chat that the stranger is in too; at home, where the platform has only chats with one person."""
    return ChatThread(user, platform, SHARED_CHATS.get(platform), **more)
