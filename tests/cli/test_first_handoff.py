"""From an empty home directory to a finished handoff, with real processes and simulators in place of the platforms."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.chats import CHATS
from local.chats.set_up import set_up_of
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from shared.platforms.set_up import Way
from tests.support.server_process import ROOT
from tests.support.waiting import eventually

MESSAGES = '[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]'
GUIDED = [chat for chat in CHATS if chat.spec.set_up and chat.relay]
ANOTHER_SERVICE = {"HANDOFF_URL": "http://127.0.0.1:9", "HANDOFF_TOKEN": "ho_owner.of-another-service"}
CODE = re.compile(r"to the bot, in a private chat:\s+(\S.*)")


class Newcomer:
    """A person with an empty home directory, two terminals, and accounts on simulated platforms. Counts the commands."""

    def __init__(self, home: Path, platforms: Simulator) -> None:
        self.home, self.platforms = home, platforms
        self.data = home / ".local" / "share" / "handoff"
        self.commands = 0
        self.running: list[subprocess.Popen[str]] = []
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(ROOT / "cli"),
            **{f"{chat.name.upper()}_API_URL": platforms.api_url(chat.name) for chat in CHATS},
            **{
                f"{chat.name}_{name}".upper(): url
                for chat in CHATS
                for name, url in platforms.relay_options(chat.name).items()
            },
        }

    def type(self, *arguments: str, **more: str) -> "subprocess.Popen[str]":
        """One command, in its terminal."""
        self.commands += 1
        output = (self.home / f"output-{self.commands}").open("w")
        with output:
            process = subprocess.Popen(
                [sys.executable, "-m", "handoff_cli", *arguments],
                cwd=self.home,
                env={**self.environment, **more},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.running.append(process)
        return process

    def shown(self, process: "subprocess.Popen[str]") -> str:
        return (self.home / f"output-{self.running.index(process) + 1}").read_text()

    def done(self, process: "subprocess.Popen[str]", text: str = "") -> str:
        """What a command has shown when it has ended well."""
        process.communicate(text, timeout=90)
        assert process.returncode == 0, self.shown(process)
        return self.shown(process)

    def starts(self) -> "subprocess.Popen[str]":
        service = self.type("up", "--listen", "127.0.0.1:0", "--no-runner")
        eventually(lambda: "Ctrl-C stops it" in self.shown(service), within=60, show=lambda: self.shown(service))
        return service

    def sets_up(self, chat: LocalChat) -> str:
        """Type the secrets, then send the code from the chat, as a person would. It pairs with the service set up."""
        setup = self.type("setup", chat.name, **ANOTHER_SERVICE)
        assert setup.stdin
        setup.stdin.write("".join(f"{secret}\n" for secret in self.secrets(chat)))
        setup.stdin.flush()
        found = eventually(lambda: CODE.search(self.shown(setup)), within=60, show=lambda: self.shown(setup))
        self.platforms.say(chat.name, private_chat(chat), found[1])
        return self.done(setup)

    def sends(self, chat: LocalChat) -> dict[str, Any]:
        """Hand a short session over; returns the handoff at its end."""
        handoff: dict[str, Any] = json.loads(
            self.done(self.type("send", chat.name, "--transcript", "-", "--json"), MESSAGES)
        )
        return handoff

    def secrets(self, chat: LocalChat, *, all_of_them: bool = True) -> list[str]:
        """What the set-up asks for, or of that only what it must not show."""
        asked = set_up_of(chat).asked(Way("", ""))
        return [self.platforms.secrets[secret.name] for secret in asked if all_of_them or secret.is_hidden]

    def stop(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.communicate(timeout=30)


def private_chat(chat: LocalChat, person: str = "owner") -> str:
    return next(each.id for each in chat.chats if each.people == (person,))


@pytest.fixture
def platforms() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def newcomer(tmp_path: Path, platforms: Simulator) -> Iterator[Newcomer]:
    person = Newcomer(tmp_path, platforms)
    yield person
    person.stop()


@pytest.mark.timeout(300)
def test_every_bot_in_one_service_and_a_second_person(
    newcomer: Newcomer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    service = newcomer.starts()
    for chat in GUIDED:
        shown = newcomer.sets_up(chat)
        assert "Your bot is" in shown
        assert f"{chat.name} account {chat.people['owner']} is owner" in shown
        handoff = newcomer.sends(chat)
        assert (handoff["state"], handoff["error"]) == ("completed", None)
        arrived = json.dumps(newcomer.platforms.state()["platforms"][chat.name])
        assert "your handoffs arrive in this chat" in arrived
        assert chat is not GUIDED[0] or newcomer.commands == 3, "three commands lead to a finished handoff"
    assert service.poll() is None, "the service has gone on in its process"
    homes = json.loads(newcomer.done(newcomer.type("homes", "--json")))
    assert {each["platform"]: each["accounts"] for each in homes} == {
        chat.name: [chat.people["owner"]] for chat in GUIDED
    }
    _keeps_its_secrets(newcomer, service)
    _invites(newcomer, Newcomer(tmp_path_factory.mktemp("bob"), newcomer.platforms), GUIDED[1])


def _keeps_its_secrets(newcomer: Newcomer, service: "subprocess.Popen[str]") -> None:
    """Only the database has them, and only its owner can read that."""
    secrets = [secret for chat in GUIDED for secret in newcomer.secrets(chat, all_of_them=False)]
    of_process = [Path(f"/proc/{service.pid}/{name}") for name in ("cmdline", "environ")]
    assert not [secret for secret in secrets for file in of_process if secret.encode() in file.read_bytes()]
    for file in (path for path in newcomer.home.rglob("*") if path.is_file()):
        if not file.name.startswith("handoff.db"):
            assert not [secret for secret in secrets if secret.encode() in file.read_bytes()], file
        else:
            assert file.stat().st_mode & 0o077 == 0


def test_a_set_up_of_this_machine_takes_no_other_address(newcomer: Newcomer) -> None:
    setup = newcomer.type("setup", GUIDED[0].name, "--url", "https://handoff.example.com")
    setup.communicate("", timeout=60)
    assert setup.returncode == 2
    assert "--url" in newcomer.shown(setup)
    assert not newcomer.data.exists()


def _invites(newcomer: Newcomer, bob: Newcomer, chat: LocalChat) -> None:
    invitation = json.loads(newcomer.done(newcomer.type("invite", "bob", chat.name, "--json")))
    newcomer.platforms.say(chat.name, private_chat(chat, "stranger"), invitation["text"], user="stranger")
    link = eventually(lambda: re.search(r'http://[^"\\#]+/login#hl_bob[\w.-]+', json.dumps(newcomer.platforms.state())))
    bob.done(bob.type("login"), f"{link[0]}\n")
    assert (bob.sends(chat)["state"], bob.commands) == ("completed", 2)


def test_a_bot_can_be_set_up_before_the_service_runs(newcomer: Newcomer) -> None:
    chat = GUIDED[0]
    setup = newcomer.type("setup", chat.name)
    shown = newcomer.done(setup, "".join(f"{secret}\n" for secret in newcomer.secrets(chat)))
    assert "The service is not running. Start it with:" in shown
    service = newcomer.starts()
    assert f"handoff link {chat.name}" in newcomer.shown(service)
    link = json.loads(newcomer.done(newcomer.type("link", "--json")))
    newcomer.platforms.say(chat.name, private_chat(chat), link["text"])
    eventually(lambda: json.loads(newcomer.done(newcomer.type("homes", "--json")))[0]["accounts"], within=30)


def test_a_token_in_the_settings_is_not_hidden_by_a_set_up(newcomer: Newcomer) -> None:
    newcomer.data.mkdir(parents=True)
    (newcomer.data / "settings").write_text("TELEGRAM_BOT_TOKEN=1:abc\n")
    setup = newcomer.type("setup", "telegram")
    setup.communicate("", timeout=60)
    assert setup.returncode == 1
    assert "TELEGRAM_BOT_TOKEN is set" in newcomer.shown(setup)
    assert "Nothing was stored" in newcomer.shown(setup)
    assert not (newcomer.data / "handoff.db").exists()
