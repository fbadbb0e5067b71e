"""`make screenshots`: play the story of docs/recording on a real service, and photograph its chats for the site."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.recording import story
from docs.recording.play import FORUM, Terminal, press, runner_of, running_service, thread_with
from local.service import LocalService
from tests.support.browser import Browser

DIRECTORY = Path(__file__).resolve().parent.parent / "screenshots"
PHONE, DESK = (390, 780), (1180, 760)


def main() -> int:
    DIRECTORY.mkdir(exist_ok=True)
    with running_service(story.answer) as (service, environ), runner_of(service, environ):
        for name, picture in pictures(service, environ):
            path = DIRECTORY / f"{name}.png"
            path.write_bytes(picture)
            sys.stdout.write(f"{path.name}: {len(picture) // 1024} KB.\n")
    return 0


def pictures(service: LocalService, environ: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """The thread on a phone when the session has arrived, when the agent asks, and at the end; then on a desk."""
    desk = Terminal(environ)
    desk.type(story.LEAVE, then="shell")
    desk.close()
    arrived = thread_with(service, story.CONFIRMED)
    with Browser("--hide-scrollbars") as browser:
        browser.resize(*PHONE, phone=True)
        with shown(browser, service, arrived["id"], story.CONFIRMED):
            yield "phone-arrived", browser.picture()
        service.simulator.say("telegram", FORUM, story.ON_THE_TRAIN, thread=arrived["id"])
        press(service, thread_with(service, story.CHOICE))
        asked = thread_with(service, story.COMMAND)
        with shown(browser, service, asked["id"], story.COMMAND):
            yield "phone-asked", browser.picture()
        press(service, asked)
        thread_with(service, story.DONE)
        with shown(browser, service, asked["id"], story.DONE):
            yield "phone-done", browser.picture()
        browser.resize(*DESK)
        with shown(browser, service, asked["id"], story.DONE):
            yield "desk", browser.picture()


@contextmanager
def shown(browser: Browser, service: LocalService, thread: str, text: str) -> Iterator[None]:
    """The thread is open, shows the text, and has nothing above it that covers it."""
    browser.open("about:blank")
    browser.open(service.simulator.link_url("telegram", FORUM, thread))
    browser.until(lambda: any(text in each for each in browser.texts(".message .text")))
    browser.until(lambda: browser.run("return !document.querySelector('#toast')?.innerText"))
    yield


if __name__ == "__main__":
    sys.exit(main())
