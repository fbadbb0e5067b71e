"""Cut what was played into one film: terminal and chat side by side, at a pace to read."""

from dataclasses import dataclass, replace
from typing import Any

from docs.recording import story
from docs.recording.play import Played, Shot

WRITE_WORD, SEND, TYPING, CONSIDER, PRESSED, READ, NOTICE, END = 170, 500, 1300, 3000, 900, 3200, 900, 5200


@dataclass(frozen=True)
class Bubble:
    """One message. `pressed` is the button that is being pressed."""

    text: str
    is_person: bool = False
    buttons: tuple[str, ...] = ()
    pressed: str = ""


@dataclass(frozen=True)
class Chat:
    """The chat at one moment. `lives` is where the session lives now."""

    thread: str = ""
    messages: tuple[Bubble, ...] = ()
    typing: bool = False
    draft: str = ""
    lives: str = "terminal"


@dataclass(frozen=True)
class Frame:
    """One picture of the film."""

    shot: Shot
    terminal: str
    chat: Chat = Chat()


def film(played: Played) -> list[Frame]:
    """The chat follows the words of the terminal, and goes on by itself between the two terminals."""
    chat, frames = Chat(), []
    for shot in played.desk:
        if "thread opened" in shot.text:
            chat = replace(chat, thread=played.confirmed["title"])
        if "session moved" in shot.text:
            chat = replace(chat, lives="chat", typing=True)
        if "agent confirmed" in shot.text:
            chat = replace(chat, messages=bubbles(played.confirmed), typing=False)
        frames.append(Frame(shot, story.FIRST_TERMINAL, chat))
    rest = replace(frames[-1].shot, ms=WRITE_WORD)
    words = story.ON_THE_TRAIN.split()
    drafts = [replace(chat, draft=" ".join(words[:count])) for count in range(1, len(words) + 1)]
    frames += [Frame(rest, story.FIRST_TERMINAL, draft) for draft in drafts]
    said = (*chat.messages, Bubble(story.ON_THE_TRAIN, is_person=True))
    chosen, asked = bubbles(played.chosen), bubbles(played.asked)
    talk = (
        (SEND, said, False), (TYPING, said, True), (CONSIDER, chosen, False), (PRESSED, _pressed(chosen), False),
        (CONSIDER, asked, False), (PRESSED, _pressed(asked), False),
        (TYPING, _pressed(asked), True), (READ, bubbles(played.answered), False),
    )  # fmt: skip
    for ms, messages, typing in talk:
        chat = replace(chat, messages=messages, typing=typing)
        frames.append(Frame(replace(rest, ms=ms), story.FIRST_TERMINAL, chat))
    for shot in played.home:
        if "back in the terminal" in shot.text:
            chat = replace(chat, lives="terminal")
        frames.append(Frame(shot, story.SECOND_TERMINAL, chat))
    last = frames[-1].shot
    frames.append(Frame(replace(last, ms=NOTICE), story.SECOND_TERMINAL, chat))
    frames.append(Frame(replace(last, ms=END), story.SECOND_TERMINAL, replace(chat, messages=bubbles(played.left))))
    return frames


def _pressed(messages: tuple[Bubble, ...]) -> tuple[Bubble, ...]:
    return tuple(replace(one, pressed=one.buttons[0]) if one.buttons else one for one in messages)


def bubbles(thread: dict[str, Any]) -> tuple[Bubble, ...]:
    """The messages of a thread."""
    return tuple(
        Bubble(
            message["text"],
            is_person=message["from"] != "bot",
            buttons=tuple(button["label"] for button in message.get("buttons") or ()),
        )
        for message in thread["messages"]
    )
