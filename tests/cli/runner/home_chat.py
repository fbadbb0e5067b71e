"""The home chat of a person whose machine may list, bring and begin sessions."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handoff_cli.runner.machine.projects import Projects, write_projects
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.cli.runner.conftest import Machine

PLATFORM = "telegram"


def consent(machine: "Machine", directories: dict[str, Path], *, bring: bool = True) -> None:
    write_projects({"HOME": str(machine.home)}, Projects(directories, bring=bring))


@dataclass
class Home:
    """The person's home chat, from now on; and the threads that it gets."""

    machine: "Machine"
    seen: int = field(init=False)

    def __post_init__(self) -> None:
        self.chat = str(self.machine.service.user.homes()[PLATFORM]["chat"])
        self.seen = len(self.messages())
        self.threads_before = {thread["id"] for thread in self._chat()["threads"]}

    def _chat(self) -> dict[str, Any]:
        chats = self.machine.service.user.service.simulator.state()["platforms"][PLATFORM]["chats"]
        return next(chat for chat in chats if str(chat["id"]) == self.chat)

    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self._chat()["messages"]
        return messages

    def say(self, text: str, thread: str | None = None) -> None:
        self.machine.service.user.service.simulator.say(PLATFORM, self.chat, text, thread=thread, user="owner")

    def told(self, text: str) -> dict[str, Any]:
        """The newest message of the bot here with this text, once it is there."""

        def found() -> dict[str, Any] | None:
            said = [one for one in self.messages()[self.seen :] if one["from"] == "bot" and text in one["text"]]
            return said[-1] if said else None

        return eventually(found, within=60, show=lambda: (self.messages()[self.seen :], self.machine.output.getvalue()))

    def press(self, message: dict[str, Any], label: str) -> None:
        button = next(button["id"] for button in message["buttons"] if label in button["label"])
        simulator = self.machine.service.user.service.simulator
        simulator.press(PLATFORM, self.chat, message["id"], button, thread=None, user="owner")

    def threads(self) -> list[dict[str, Any]]:
        return [thread for thread in self._chat()["threads"] if thread["id"] not in self.threads_before]

    def in_thread(self, text: str, number: int = 0) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            threads = self.threads()[number : number + 1]
            said = [one for thread in threads for one in thread["messages"] if text in one["text"]]
            return {**threads[0], "said": said[-1]} if said else None

        return eventually(
            found,
            within=60,
            show=lambda: (self.threads(), self.messages()[self.seen :], self.machine.output.getvalue()),
        )
