"""The findings of the doctor."""

# ruff: noqa: ARG002  # a fake takes what its port passes, and need not use it

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shared.domain.handoffs import Handoff, State
from shared.domain.orders import TRANSCRIBE
from shared.domain.routes import Place, cli_place
from shared.domain.runners import AWAY_AFTER
from shared.errors import NotTranscribed, RateLimited
from shared.platforms.registry import PlatformRegistry
from shared.ports.platforms import Finding, ResolvedChat
from shared.ports.transcriber import Recording
from shared.use_cases.run_doctor import OVERDUE, problem_of, run_doctor
from tests.support.machine import Machine
from tests.support.memory_files import MemoryFiles
from tests.support.secrets import FakeSecrets
from tests.support.use_case_world import HOME, USER, World, with_listed_handoffs

URL = "https://handoff.example"
ALIVE = Finding("bot", ok=True, detail="It answers.", platform="chat")


@dataclass(frozen=True)
class DiagnosedPlatform:
    """A platform that can only be diagnosed."""

    look: Callable[..., Sequence[Finding]]

    def diagnose(self, home: Place | None, **asked: object) -> Sequence[Finding]:
        return self.look(home, **asked)

    def resolve_chat(self, chat: Place, **_: object) -> ResolvedChat:
        return ResolvedChat(chat)


@dataclass(frozen=True)
class DiagnosedPlatforms:
    """Platforms by name; one without a diagnosis is supported and not configured."""

    looks: Mapping[str, Callable[..., Sequence[Finding]] | None]

    def get(self, name: str) -> DiagnosedPlatform:
        look = self.looks[name]
        assert look is not None
        return DiagnosedPlatform(look)

    def known(self) -> Mapping[str, bool]:
        return {**dict.fromkeys(self.looks, True), "pigeon": False}

    def is_configured(self, name: str) -> bool:
        return self.looks[name] is not None

    def lacks(self, name: str) -> Sequence[str]:
        return ()

    def window(self, name: str) -> int | None:
        return None


def found(world: World, user: str = USER, **options: float) -> list[tuple[str | None, str, bool | None]]:
    findings = run_doctor(world.services, user, base_url=URL, **options)
    assert all(finding.fix for finding in findings if not finding.ok)
    return [(finding.platform, finding.name, finding.ok) for finding in findings]


def with_looks(world: World, **looks: Callable[..., Sequence[Finding]] | None) -> World:
    world.services = replace(world.services, platforms=DiagnosedPlatforms(looks))  # type: ignore[arg-type]  # what a look needs
    return world


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def test_who_has_a_home_and_is_known_finds_no_fault(world: World) -> None:
    with_looks(world, chat=lambda *_, **__: [ALIVE])

    assert found(world) == [
        (None, "agent", True),
        (None, "voice", True),
        (None, "files", True),
        (None, "handoffs", True),
        ("chat", "bot", True),
        ("chat", "identity", True),
    ]


def test_a_platform_is_told_the_home_the_webhook_and_the_time(world: World) -> None:
    asked: list[object] = []

    def look(home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:
        asked.extend([home, webhook_url, now, seconds])
        return []

    found(with_looks(world, chat=look))

    assert asked == [HOME, f"{URL}/webhooks/chat", world.clock.now(), 5.0]


def test_files_whose_storage_refuses_the_service_are_found(world: World) -> None:
    class Refusing(MemoryFiles):
        def size(self, key: str) -> int | None:
            raise PermissionError

    world.services = replace(world.services, files=Refusing())
    assert (None, "files", False) in found(world)


def test_a_platform_that_hangs_delays_no_other(world: World, gate: threading.Event) -> None:
    def hang(*_: object, **__: object) -> Sequence[Finding]:
        gate.wait(30)
        return []

    with_looks(world, slow=hang, chat=lambda *_, **__: [ALIVE])
    began = time.monotonic()

    seen = found(world, patience=0.3)

    assert time.monotonic() - began < 5
    assert ("slow", "bot", None) in seen
    assert ("chat", "bot", True) in seen


def test_platforms_are_looked_at_all_at_once(world: World) -> None:
    together = threading.Barrier(3, timeout=20)

    def look(*_: object, **__: object) -> Sequence[Finding]:
        together.wait()
        return [ALIVE]

    seen = found(with_looks(world, chat=look, two=look, three=look))

    assert [row for row in seen if row[1] == "bot"] == [("chat", "bot", True)] * 3


def test_something_unforeseen_in_a_look_is_a_finding(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def break_down(*_: object, **__: object) -> Sequence[Finding]:
        raise KeyError("an unexpected answer")

    assert ("chat", "bot", None) in found(with_looks(world, chat=break_down))
    assert "chat could not be diagnosed: KeyError" in caplog.text


def test_a_new_user_is_told_to_set_a_home(world: World) -> None:
    with_looks(world, chat=lambda *_, **__: [ALIVE])

    assert found(world, "new")[-1] == ("chat", "home", False)


def test_who_is_at_home_elsewhere_may_do_without_this_platform(world: World) -> None:
    with_looks(world, chat=lambda *_, **__: [ALIVE], other=lambda *_, **__: [])

    assert ("other", "home", None) in found(world)
    assert ("other", "identity", False) not in found(world)


def test_a_home_without_a_linked_account_is_reported(world: World) -> None:
    world.store.accounts.set_home("bob", Place("chat", "bobs"))
    with_looks(world, chat=lambda *_, **__: [ALIVE])

    assert found(world, "bob")[-1] == ("chat", "identity", False)


def test_without_any_platform_that_is_the_finding(world: World) -> None:
    with_looks(world, chat=None)

    assert found(world, "new") == [
        (None, "agent", True),
        (None, "voice", True),
        (None, "files", True),
        (None, "handoffs", True),
        (None, "platforms", False),
    ]
    assert ("chat", "secrets", False) in found(world), "a home on a platform without a bot"


def test_a_platform_that_is_half_set_up_names_what_it_lacks(world: World) -> None:
    secrets = FakeSecrets({"slack/bot_token": "xoxb-1"})
    world.services = replace(world.services, platforms=PlatformRegistry(world.services.settings, secrets))

    findings = [finding for finding in run_doctor(world.services, USER, base_url=URL) if finding.platform]

    assert [(finding.platform, finding.name, finding.ok) for finding in findings] == [("slack", "secrets", False)]
    assert "slack/signing_secret" in findings[0].detail
    assert "bot_token" not in findings[0].detail


def test_the_agent_is_named_and_not_asked(world: World) -> None:
    agent = run_doctor(world.services, USER, base_url=URL)[0]

    assert agent.detail == world.services.agent_summary
    assert world.agent.given == []


def test_an_unclaimed_handoff_is_reported_after_two_minutes(world: World) -> None:
    world.session()
    handoff = world.ask()

    world.wait(119)
    assert (None, "handoffs", True) in found(world)

    world.wait(2)
    (stuck,) = [finding for finding in run_doctor(world.services, USER, base_url=URL) if finding.name == "handoffs"]
    assert (stuck.ok, stuck.platform) == (False, "chat")
    assert handoff.id in stuck.detail
    assert f"handoff cancel {handoff.id}" in str(stuck.fix)
    assert (None, "handoffs", True) in found(world, "another user")


def test_a_handoff_that_waits_as_the_platform_asked_is_not_stuck(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].append(RateLimited(300))
    world.process(handoff)
    assert world.latest(handoff).state == State.PENDING

    world.wait(400)
    assert (None, "handoffs", True) in found(world)
    world.wait(60)
    assert ("chat", "handoffs", False) in found(world)


AT = 10 * OVERDUE
HANDOFF = Handoff(
    *("h", "s", USER, "chat", HOME, cli_place("s"), 0, "hash", State.RUNNING),
    deadline=AT,
    created_at=0,
    updated_at=0,
)


@pytest.mark.parametrize(
    ("handoff", "after_deadline", "is_stuck"),
    [
        (HANDOFF, OVERDUE, False),
        (HANDOFF, OVERDUE + 1, True),
        (replace(HANDOFF, confirmed=True), OVERDUE + 1, False),
        (replace(HANDOFF, state=State.COMPLETED), OVERDUE + 1, False),
        (replace(HANDOFF, state=State.FAILED), OVERDUE + 1, False),
    ],
    ids=["not yet", "past its deadline", "confirmed", "completed", "failed"],
)
def test_an_open_handoff_past_its_deadline_is_stuck(handoff: Handoff, after_deadline: int, is_stuck: bool) -> None:
    assert (problem_of(handoff, now=AT + after_deadline) is not None) == is_stuck


@pytest.mark.parametrize(("newer", "is_found"), [(99, True), (100, False)])
def test_the_newest_100_handoffs_are_checked(world: World, newer: int, is_found: bool) -> None:
    done = replace(HANDOFF, state=State.COMPLETED)
    world.services = with_listed_handoffs(world.services, [*[done] * newer, replace(HANDOFF, deadline=0)])

    assert (("chat", "handoffs", False) in found(world)) == is_found


@dataclass(frozen=True)
class Trial:
    """A transcriber that a doctor tries."""

    problem: str = ""

    def words(self, recording: Recording, *, seconds: float) -> str:
        assert recording.path.read_bytes().startswith(b"RIFF")
        assert seconds > 0
        if self.problem:
            raise NotTranscribed(self.problem)
        return ""


def voice_of(world: World, **services: Any) -> list[tuple[bool | None, str, str | None]]:
    with_looks(world)
    world.services = replace(world.services, voice_summary="Voice is transcribed by w.", **services)
    findings = run_doctor(world.services, USER, base_url=URL)
    return [(finding.ok, finding.detail, finding.fix) for finding in findings if finding.name == "voice"]


def test_a_transcriber_that_works(world: World) -> None:
    assert voice_of(world, transcriber=Trial(), tries_voice=True) == [(True, "Voice is transcribed by w.", None)]


def test_a_transcriber_that_does_not_work_says_why_and_what_to_do(world: World) -> None:
    [(ok, detail, fix)] = voice_of(world, transcriber=Trial("it is off"), tries_voice=True)
    assert (ok, "a second of silence: it is off." in detail, "docs/voice.md" in str(fix)) == (False, True, True)


def test_a_process_without_the_key_tries_nothing(world: World) -> None:
    """On AWS only the function that runs the agent may read it."""
    assert voice_of(world, transcriber=Trial("it is off"))[0][0] is True


def test_a_machine_that_transcribes_is_named_also_while_it_is_away(world: World) -> None:
    Machine(world, orders=(TRANSCRIBE,))
    assert [ok for ok, _, _ in voice_of(world)] == [True, True]
    world.wait(AWAY_AFTER / 1000)
    (ok, detail, fix) = voice_of(world)[1]
    assert (ok, detail.startswith("laptop transcribes"), "It is away" in detail, fix) == (
        None,
        True,
        True,
        "handoff run",
    )
