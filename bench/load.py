"""Many people at once on one machine: `handoff up` as a program, simulated Telegram, and messages at a steady rate."""

import itertools
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from bench.figures import cpu_seconds, megabytes, p50, p95
from bench.one_machine import pid_of
from local.chats import CHATS
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat, SeededChat
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

PLATFORM = "telegram"
FIRST_PERSON = 8000
PATIENCE = 120.0
"""Seconds for the last answers."""


@dataclass(frozen=True)
class Asked:
    """So many people say `rate` messages a second together, for `seconds`; the agent takes `agent` seconds for each answer."""

    people: int = 50
    rate: float = 5.0
    seconds: float = 600.0
    agent: int = 3


@dataclass(frozen=True)
class Outcome:
    """`lost` are texts that are not in their transcript once; the times are from a message to its answer in the thread."""

    said: int
    lost: list[str]
    middle: float
    slowest: float
    longest: float
    megabytes: float
    processor: float
    """Seconds of a processor for each second."""

    def __str__(self) -> str:
        times = f"p50 {self.middle:.2f} s, p95 {self.slowest:.2f} s, at most {self.longest:.2f} s"
        used = f"at most {self.megabytes:.0f} MB, {self.processor:.0%} of a processor"
        return f"{self.said} messages, {len(self.lost)} lost; answered in {times}; {used}"


@dataclass(frozen=True)
class Person:
    key: str
    chat: str
    http: httpx.Client


def crowded(people: int) -> LocalChat:
    """Telegram with so many more people, each with a private chat with the bot."""
    (telegram,) = (chat for chat in CHATS if chat.name == PLATFORM)
    ids = {f"person{number}": str(FIRST_PERSON + number) for number in range(people)}
    chats = [SeededChat(identity, f"{key} and the bot", "private", (key,)) for key, identity in ids.items()]
    return replace(telegram, people={**telegram.people, **ids}, chats=(*telegram.chats, *chats))


def play(asked: Asked, directory: Path) -> Outcome:
    """Set everybody up as a person does it, let them talk, and look at what arrived."""
    chat = crowded(asked.people)
    with Simulator([chat]) as simulator, ExitStack() as closing:
        variables = {"HANDOFF_REHEARSAL_SECONDS": str(asked.agent), "LOG_LEVEL": "WARNING"}
        server = ServerProcess(directory / "data", simulator, names=(PLATFORM,), **variables)
        try:
            server.start()
            people = [_set_up(server, simulator, f"person{number}") for number in range(asked.people)]
            for person in people:
                closing.callback(person.http.close)
            with ThreadPoolExecutor(8) as pool:
                threads = list(pool.map(_hand_over, people))
            return _talk(asked, server, simulator, list(zip(people, threads, strict=True)))
        finally:
            if server.process is not None:
                server.kill()


def _set_up(server: ServerProcess, simulator: Simulator, key: str) -> Person:
    """A user with a linked account, whose home is the private chat with the bot."""
    owner = {"Authorization": f"Bearer {server.tokens['owner']}"}
    made = httpx.post(f"{server.url}/users", json={"id": key}, headers=owner, timeout=30).raise_for_status().json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    chat = str(FIRST_PERSON + int(key.removeprefix("person")))
    person = Person(key, chat, httpx.Client(base_url=server.url, headers=headers, timeout=60))
    link = person.http.post("/links", json={"platform": PLATFORM}).raise_for_status().json()
    simulator.say(PLATFORM, person.chat, link["text"], user=key)
    eventually(lambda: person.http.get("/links").json()["links"][0]["state"] == "linked", within=60)
    return person


def _hand_over(person: Person) -> tuple[str, str]:
    """The session and its thread."""
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    body = {"platform": PLATFORM, "session": {"title": person.key, "messages": said}}
    view = person.http.post("/handoffs", json=body, headers={"Idempotency-Key": person.key}).raise_for_status().json()
    while not view["done"]:
        view = person.http.get(f"/handoffs/{view['id']}", params={"wait": 20, "seen": view["version"]}).json()
    if view["error"]:
        raise RuntimeError(view["error"]["message"])
    return str(view["session_id"]), str(view["thread"]["id"])


def _talk(
    asked: Asked, server: ServerProcess, simulator: Simulator, people: list[tuple[Person, tuple[str, str]]]
) -> Outcome:
    """Say everything at its time, whatever has been answered by then."""
    pid, most, said = pid_of(server), 0.0, dict[str, Person]()
    used, began = cpu_seconds(pid) or 0.0, time.monotonic()
    for number, (person, (_, thread)) in zip(
        range(round(asked.rate * asked.seconds)), itertools.cycle(people), strict=False
    ):
        time.sleep(max(0.0, began + number / asked.rate - time.monotonic()))
        text = f"words {number:05} of {person.key}"
        simulator.say(PLATFORM, person.chat, text, thread=thread, user=person.key)
        said[text] = person
        if number % 50 == 0:
            most = max(most, megabytes(pid))
    processor = ((cpu_seconds(pid) or 0.0) - used) / (time.monotonic() - began)
    with suppress(AssertionError):  # what is not answered in time is lost
        eventually(lambda: len(_answers(simulator.state(), said)) == len(said), within=PATIENCE)
    answered = _answers(simulator.state(), said)
    sessions = {person.key: session for person, (session, _) in people}
    contents = {person.key: _contents(person, sessions[person.key]) for person, _ in people}
    lost = [text for text, person in said.items() if text not in answered or contents[person.key].count(text) != 1]
    times = list(answered.values())
    return Outcome(len(said), lost, p50(times), p95(times), max(times), max(most, megabytes(pid)), processor)


def _contents(person: Person, session: str) -> list[str]:
    found = person.http.get(f"/sessions/{session}/messages", params={"limit": 500}).json()["messages"]
    return [str(message["content"]) for message in found if message["role"] == "user"]


def _answers(state: Any, texts: Collection[str]) -> dict[str, float]:
    """The seconds until the answer that quotes it, of each message that has one."""
    found = {}
    for chat in state["platforms"][PLATFORM]["chats"]:
        for thread in chat["threads"]:
            for at, message in enumerate(thread["messages"]):
                if message["text"] in texts:
                    later = (each for each in thread["messages"][at:] if each["from"] == "bot")
                    for answer in (each for each in later if message["text"] in each["text"]):
                        found[message["text"]] = (_instant(answer) - _instant(message)).total_seconds()
                        break
    return found


def _instant(message: Any) -> datetime:
    return datetime.fromisoformat(message["at"])
