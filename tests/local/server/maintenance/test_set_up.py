"""`handoff setup` on one machine: which process is asked to start again."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local.chats.set_up import Person
from local.chats.simulator import Simulator
from local.console import Console
from local.server.directory import DataDirectory
from local.server.maintenance.set_up import NOT_RUNNING, set_up_here
from local.server.settings_file import read_settings
from local.server.state_file import write_state
from shared.platforms.set_up import AskedSecret

BEFORE, AFTER, OTHER = "1111", "2222", "3333"


@dataclass(frozen=True)
class Asked(Person):
    """A person who takes their time: `meanwhile` happens while they look for the secret."""

    may_ask: bool = False
    typed: str = ""
    meanwhile: Callable[[], None] = lambda: None
    lines: Sequence[str] = ()

    def say(self, text: str) -> None:
        pass

    def line(self, question: str) -> str:
        return self.lines[0 if question.startswith("Number") else 1]

    def secret(self, asked: AskedSecret) -> str:  # noqa: ARG002  # the interface
        self.meanwhile()
        return self.typed


@dataclass
class Machine:
    """A data directory that one process has, and the signals that processes got."""

    directory: DataDirectory
    lock: ExitStack
    token: str
    signals: list[tuple[int, int]] = field(default_factory=list)

    def runs(self, process: str, *, started: str = "first") -> None:
        """From now on this service has the directory."""
        self.holds(process)
        write_state(self.directory.state, process, {"started": started, "loaded": True, "relays": {}})

    def holds(self, process: str) -> None:
        (self.directory.path / "lock").write_text(f"{process}\n")

    def ends(self, *_: object) -> None:
        self.lock.close()

    def send(self, process: int, number: int) -> None:
        self.signals.append((process, number))
        values = {"started": "again", "loaded": True, "relays": {"telegram": "a problem ends the waiting"}}
        write_state(self.directory.state, str(process), values)

    def set_up(
        self, meanwhile: Callable[[], None], pause: Callable[[float], None] | None = None, lines: Sequence[str] = ()
    ) -> int:
        asked = argparse.Namespace(data=self.directory.path, platform="telegram", public_url=None, replace=False)
        person = Asked(typed=self.token, meanwhile=meanwhile, may_ask=bool(lines), lines=lines)
        return set_up_here(asked, Console(is_json=False), person=person, send=self.send, pause=pause or _never)


def _never(_: float) -> None:
    raise AssertionError("there is nothing to wait for")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    with Simulator() as platforms, ExitStack() as lock:
        lock.enter_context(directory.locked())
        directory.settings.write_text(f"TELEGRAM_API_URL={platforms.api_url('telegram')}\n")
        machine = Machine(directory, lock, platforms.secrets["telegram/bot_token"])
        machine.runs(BEFORE)
        yield machine
        machine.ends()


def test_the_service_that_runs_after_the_questions_is_restarted(machine: Machine) -> None:
    machine.set_up(meanwhile=lambda: machine.runs(AFTER))
    assert machine.signals == [(int(AFTER), signal.SIGUSR1)]


def test_a_service_that_was_stopped_since_gets_no_signal(machine: Machine) -> None:
    assert machine.set_up(meanwhile=machine.ends) == NOT_RUNNING
    assert machine.signals == []


def test_a_process_that_is_no_service_gets_no_signal(machine: Machine) -> None:
    """A restore or an import has the directory: SIGUSR1 would end it."""
    assert machine.set_up(meanwhile=lambda: machine.holds(OTHER), pause=machine.ends) == NOT_RUNNING
    assert machine.signals == []


def test_a_program_for_voice_messages_is_in_the_settings_before_the_restart(machine: Machine) -> None:
    command = f"{sys.executable} -c 'print(1)'"
    machine.set_up(meanwhile=lambda: machine.runs(AFTER), lines=["3", command])
    assert read_settings(machine.directory.settings)["HANDOFF_VOICE_COMMAND"] == command
    assert machine.signals == [(int(AFTER), signal.SIGUSR1)]
    machine.set_up(meanwhile=lambda: machine.runs(OTHER), lines=["3", "is not asked again"])
    assert read_settings(machine.directory.settings)["HANDOFF_VOICE_COMMAND"] == command
