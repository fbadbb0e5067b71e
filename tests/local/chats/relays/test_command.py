"""`python -m local.chats.relays` and the registration of slash commands, as programs."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.chats import CHATS
from local.chats.relays.configuration import variable
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from shared.domain.commands import COMMANDS
from tests.support.servers import WAIT_SECONDS
from tests.support.webhook_receiver import WebhookReceiver

ROOT = Path(__file__).parents[4]
RELAYED = [chat for chat in CHATS if chat.relay]


def environment(simulator: Simulator) -> dict[str, str]:
    return {variable(name): value for name, value in simulator.secrets.items()}


@contextmanager
def command(
    arguments: list[str], secrets: Mapping[str, str], module: str = "local.chats.relays"
) -> Iterator[subprocess.Popen[str]]:
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**plain, **secrets},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("chat", RELAYED, ids=lambda chat: chat.name)
def test_a_relay_runs_until_sigterm_and_logs_no_secret(
    simulator: Simulator, receiver: WebhookReceiver, chat: LocalChat
) -> None:
    assert chat.relay
    platform = chat.name
    given = simulator.relay_options(platform)
    options = [
        part for option in chat.relay.options if option.name in given for part in (option.flag, given[option.name])
    ]
    secrets = environment(simulator)
    arguments = [
        platform,
        "--url",
        receiver.url,
        "--log-level",
        "DEBUG",
        "--api-url",
        simulator.api_url(platform),
        *options,
    ]
    receiver.answer(500, 200)
    with command(arguments, secrets) as process:
        for _ in range(20):  # Slack's events take the socket only once it was opened
            simulator.say(platform, chat.homes["owner"], "a private word")
            with contextlib.suppress(AssertionError):
                receiver.accepted(1, within=1)
                break
        process.send_signal(signal.SIGTERM)
        _, output = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0
    assert f"the {platform} relay has stopped" in output
    assert "waits for the webhook" in output
    assert "a private word" not in output
    assert not [name for name, secret in secrets.items() if secret in output]


@pytest.mark.parametrize("chat", RELAYED, ids=lambda chat: chat.name)
def test_missing_secrets_are_named(chat: LocalChat) -> None:
    assert chat.relay
    with command([chat.name, "--url", "http://127.0.0.1:9"], {}) as process:
        _, output = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 2
    assert all(variable(name) in output for name in chat.relay.secrets)


def test_a_rejected_token_has_its_exit_code(simulator: Simulator) -> None:
    secrets = environment(simulator) | {"TELEGRAM_BOT_TOKEN": "1:wrong"}
    arguments = ["telegram", "--url", "http://127.0.0.1:9", "--api-url", simulator.api_url("telegram")]
    with command(arguments, secrets) as process:
        _, output = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 1
    assert "@BotFather" in output
    assert "1:wrong" not in output


def test_registering_slash_commands_is_idempotent(simulator: Simulator) -> None:
    secrets = {"DISCORD_BOT_TOKEN": simulator.secrets["discord/bot_token"]}
    arguments = ["--api-url", simulator.api_url("discord")]
    for _ in range(2):
        with command(arguments, secrets, "local.chats.discord.register_commands") as process:
            output, problem = process.communicate(timeout=WAIT_SECONDS)
        assert (process.returncode, problem) == (0, "")
        names = output.strip().removeprefix("Registered: ").split(", ")
        assert set(names) == {"/say", *(f"/{command.name}" for command in COMMANDS.values() if command.listed)}


@pytest.mark.parametrize(("token", "code"), [("wrong", 1), ("", 2)])
def test_a_bad_token_registers_no_commands(simulator: Simulator, token: str, code: int) -> None:
    arguments = ["--api-url", simulator.api_url("discord")]
    with command(arguments, {"DISCORD_BOT_TOKEN": token}, "local.chats.discord.register_commands") as process:
        _, problem = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == code
    assert "Traceback" not in problem
