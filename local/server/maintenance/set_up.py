"""`handoff setup PLATFORM` for a service on one machine: secrets into its database, then it starts again with them."""

import argparse
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from shlex import quote

import httpx

from local.chats.relays.configuration import secret_names, variable
from local.chats.set_up import Person, SetUpFailed, chat_named, set_up
from local.chats.spec import LocalChat
from local.console import Console
from local.server.directory import DataDirectory
from local.server.settings_file import add_settings, read_settings
from local.server.state_file import read_state
from local.voice import NAMES, ask_about_voice
from shared.platforms.set_up import Way
from shared.sqlite.database import Database
from shared.sqlite.secrets import SqliteSecrets
from shared.voice.openai import KEY

RESTART_SECONDS = 60.0
POLL_SECONDS = 0.1
NOT_RUNNING = 10
"""The exit code that tells the client: stored, but there is no service to pair with yet."""


def set_up_here(
    asked: argparse.Namespace,
    console: Console,
    *,
    person: Person | None = None,
    send: Callable[[int, int], None] = os.kill,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Ask, check, store, restart the service if it runs. Raises Unusable, DataFileError."""
    directory = DataDirectory.at(asked.data)
    program = os.environ.get("HANDOFF_PROG") or "handoff"
    person = person or Person()
    try:
        chat = chat_named(asked.platform)
        directory.create()
        settings = {**read_settings(directory.settings), **os.environ}
        _refuse_overridden(chat, settings, directory)
        process = directory.running()
        known = read_state(directory.state, process) if process else {}
        served = str(known.get("public_url") or "")
        if process:
            _refuse_other_address(asked.public_url or "", served)
        way = _way(chat, settings, asked.public_url or served)
        _refuse_unreachable(chat, way, program)
        with closing(Database(directory.database)) as database:
            kept = SqliteSecrets(database)

            def store(values: Mapping[str, str]) -> None:
                kept.set_all(values)
                person.say(f"\nStored in {directory.database}, which only you can read.")

            present = {name: kept.get(name) or "" for name in secret_names(chat)}
            set_up(chat, way, store, present, replace=asked.replace, person=person)
            if not any(map(settings.get, NAMES)) and (voice := ask_about_voice(person, "this machine")):
                kept.set_all({KEY: voice.key} if voice.key else {})
                add_settings(directory.settings, voice.settings)
                person.say(f"Voice messages become words. To change that, see {directory.settings}.")
    except SetUpFailed as failed:
        return console.refuse(str(failed))
    deadline = time.monotonic() + RESTART_SECONDS
    before = _ask_to_restart(directory, deadline, person, send, pause)
    if before is None:
        where = "" if directory.is_usual(os.environ) else f" --data {quote(str(directory.path))}"
        person.say(
            f"\nThe service is not running. Start it with: {program} up{where}\nThen pair: {program} link {chat.name}"
        )
        return NOT_RUNNING
    while time.monotonic() < deadline:
        ended = _restarted(directory, chat, before, person, console)
        if ended is not None:
            return ended
        pause(POLL_SECONDS)
    return console.refuse("The service did not come back in time. The secrets are stored. See: handoff doctor")


def _refuse_overridden(chat: LocalChat, settings: Mapping[str, str], directory: DataDirectory) -> None:
    for name in map(variable, secret_names(chat)):
        if settings.get(name):
            raise SetUpFailed(
                f"{name} is set in {directory.settings} or in the environment, and counts more than what is set up here. "
                "Nothing was stored. Remove it there first."
            )


def _refuse_other_address(asked: str, served: str) -> None:
    """The running service would fetch messages itself, or expect them at another address."""
    if asked and asked.rstrip("/") != served.rstrip("/"):
        now = f"with --public-url {served}" if served else "without --public-url"
        raise SetUpFailed(f"The service runs {now}. Nothing was stored. Start it with --public-url {asked} first.")


def _refuse_unreachable(chat: LocalChat, way: Way, program: str) -> None:
    """Without an address the service would not start again once it has the secrets."""
    if chat.relay is None and way.uses_relay:
        raise SetUpFailed(
            f"{chat.spec.title} must reach the service at a public address. Nothing was stored. "
            f"Start it with `{program} up --public-url https://…` first."
        )


def _way(chat: LocalChat, settings: Mapping[str, str], public_url: str) -> Way:
    """With a public URL the platform posts there, except those that never do."""
    posts = bool(public_url) and not (chat.relay and chat.relay.is_only_way)
    return Way(
        api_url=settings.get(f"{chat.name.upper()}_API_URL") or chat.spec.api_url,
        link_url=chat.spec.link_url,
        webhook_url=f"{public_url.rstrip('/')}/webhooks/{chat.name}" if posts else "",
    )


def _ask_to_restart(
    directory: DataDirectory,
    deadline: float,
    person: Person,
    send: Callable[[int, int], None],
    pause: Callable[[float], None],
) -> str | None:
    """Let the running service start again in its process; when it had started, or None if there is none.

    It may have been stopped or replaced while the person typed. A service is the process that has the directory and has
    written its state: a restore has the directory, too, and the signal would end it.
    """
    while (process := directory.running()) and time.monotonic() < deadline:
        if known := read_state(directory.state, process):
            person.say("Restarting the service, so that it uses the bot ...")
            with suppress(ProcessLookupError, ValueError):
                send(int(process), signal.SIGUSR1)
            return str(known.get("started"))
        pause(POLL_SECONDS)
    return None


def _restarted(directory: DataDirectory, chat: LocalChat, before: str, person: Person, console: Console) -> int | None:
    """The exit code once the service has started again; None until then. What it works on goes on after that."""
    running = directory.running()
    state = read_state(directory.state, running) if running else {}
    if not state.get("loaded") or str(state.get("started")) == before:
        return None
    relay = dict(state.get("relays") or {}).get(chat.name)
    if isinstance(relay, str):
        return console.refuse(f"The service has restarted, but cannot use the bot: {relay}")
    if relay is False or not _answers(directory):
        return None
    person.say(f"{chat.spec.title} is connected.")
    return 0


def _answers(directory: DataDirectory) -> bool:
    try:
        return httpx.get(f"{directory.read_env()['HANDOFF_URL']}/health", timeout=2, trust_env=False).is_success
    except (httpx.HTTPError, KeyError):
        return False
