"""Cut what was played into one film: terminal and chat side by side, at a pace to read."""

from dataclasses import dataclass, replace
from typing import Any

from docs.recording import story
from docs.recording.play import Shot

WRITE_WORD, SEND, TYPING, READ, NOTICE, END = 170, 500, 1300, 3200, 900, 5200


@dataclass(frozen=True)
class Chat:
    """The chat at one moment. `messages` alternate as the story does; `lives` where the session lives now."""

    thread: str = ""
    messages: tuple[str, ...] = ()
    typing: bool = False
    draft: str = ""
    lives: str = "terminal"


@dataclass(frozen=True)
class Frame:
    """One picture of the film."""

    shot: Shot
    terminal: str
    chat: Chat = Chat()


def film(desk: list[Shot], home: list[Shot], thread: dict[str, Any]) -> list[Frame]:
    """The chat follows the words of the terminal, and goes on by itself between the two terminals."""
    texts = [message["text"] for message in thread["messages"]]
    chat, frames = Chat(), []
    for shot in desk:
        if "thread opened" in shot.text:
            chat = replace(chat, thread=thread["title"])
        if "session moved" in shot.text:
            chat = replace(chat, lives="chat", typing=True)
        if "agent confirmed" in shot.text:
            chat = replace(chat, messages=(texts[0],), typing=False)
        frames.append(Frame(shot, story.FIRST_TERMINAL, chat))
    rest = replace(frames[-1].shot, ms=WRITE_WORD)
    words = texts[1].split()
    drafts = [replace(chat, draft=" ".join(words[:count])) for count in range(1, len(words) + 1)]
    frames += [Frame(rest, story.FIRST_TERMINAL, draft) for draft in drafts]
    for ms, said, typing in ((SEND, 2, False), (TYPING, 2, True), (READ, 3, False)):
        chat = replace(chat, messages=tuple(texts[:said]), typing=typing)
        frames.append(Frame(replace(rest, ms=ms), story.FIRST_TERMINAL, chat))
    for shot in home:
        if "back in the terminal" in shot.text:
            chat = replace(chat, lives="terminal")
        frames.append(Frame(shot, story.SECOND_TERMINAL, chat))
    last = frames[-1].shot
    frames.append(Frame(replace(last, ms=NOTICE), story.SECOND_TERMINAL, chat))
    frames.append(Frame(replace(last, ms=END), story.SECOND_TERMINAL, replace(chat, messages=tuple(texts))))
    return frames
