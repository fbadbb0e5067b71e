"""Answers that cannot be understood: a page of a proxy, half an answer, JSON of another type."""

import random
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited, Rejected
from shared.ports.inbound import Announced, Pressed
from shared.ports.platforms import Button, Part, Platform
from tests.contracts.platform.case import TITLE, PlatformTests
from tests.contracts.platform.files import LIMIT, PICTURE, given, out
from tests.contracts.platform.garbling import GarblingProxy, adapter_through, garbling
from tests.contracts.platform.harness import PlatformHarness, now
from tests.support.garbled_answers import MARK, PAGE, garbled, lacking_fields, odd_fields
from tests.support.servers import Response

_NO_FILE = ChatFile("file", "-")


@dataclass(frozen=True)
class Target:
    """The subject of an operation: made before, without the proxy."""

    home: Place
    place: Place
    message: str
    person: str
    pressed: Pressed
    file: ChatFile = _NO_FILE


Operation = Callable[[Platform, Target], Any]

CHANGES: Mapping[str, Operation] = {
    "open_thread": lambda on, to: on.open_thread(to.home, TITLE, key="another", people=[to.person]),
    "send": lambda on, to: on.send(to.place, Part("hello"), key="hello"),
    "send_file": lambda on, to: on.send_file(to.place, out("plot.png", "image/png", PICTURE), None, key="file"),
    "edit": lambda on, to: on.edit(to.place, to.message, Part("edited")),
    "close_thread": lambda on, to: on.close_thread(to.place),
}
READS: Mapping[str, Operation] = {
    "find_thread": lambda on, to: on.find_thread(to.home, key="first"),
    "find_message": lambda on, to: on.find_message(to.place, key="words"),
    "resolve_chat": lambda on, to: on.resolve_chat(to.home, people=[to.person]),
    "join": lambda on, to: on.join(to.home),
    "fetch_file": lambda on, to: len(b"".join(on.fetch_file(to.place, to.file, limit=LIMIT))),
    "fetch": lambda on, to: on.fetch(Announced(to.place, to.message, to.person)),
    "is_private": lambda on, to: on.is_private(to.home, person=to.person),
}
SILENT: Mapping[str, Operation] = {
    "acknowledge": lambda on, to: on.acknowledge(to.pressed, "Done"),
    "typing": lambda on, to: on.typing(to.place),
    "link": lambda on, to: on.link(to.place),
    "is_me": lambda on, _: on.is_me("handoff_bot"),
    "pairing": lambda on, _: on.pairing("ABCD-EFGH"),
    "diagnose": lambda on, to: on.diagnose(to.home, webhook_url="https://a.example/webhooks", now=now(), seconds=15),
}
OPERATIONS = {**CHANGES, **READS, **SILENT}
OFFLINE = {"render", "verify", "parse"}
SAMPLE = 12

Answers = Callable[[bytes], Mapping[str, Response]]
Choose = Callable[[Answers], Answers]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run: a value or an error."""

    what: str
    value: Any = None
    error: Exception | None = None
    has_changed: bool = False

    @property
    def text(self) -> str:
        """All that people or a log may see of it."""
        return "".join(traceback.format_exception(self.error)) if self.error else repr(self.value)

    def __repr__(self) -> str:
        return f"{self.what}: {self.error!r}" if self.error else f"{self.what}: returned {self.value!r}"


class Garbled(PlatformTests):
    """The call may have had its effect: what is not understood is never a final refusal, and never quoted."""

    @pytest.fixture(params=["some", pytest.param("all", marks=pytest.mark.soak)])
    def choose(self, request: pytest.FixtureRequest) -> Choose:
        """The answers of a call that are tried: all of them, or always the same dozen."""

        def some(answers: Answers) -> Answers:
            def chosen(whole: bytes) -> Mapping[str, Response]:
                ways = answers(whole)
                seeded = random.Random(request.node.nodeid)  # noqa: S311  # not for security
                return {way: ways[way] for way in seeded.sample(list(ways), min(SAMPLE, len(ways)))}

            return chosen

        return some if request.param == "some" else lambda answers: answers

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_a_garbled_answer_is_an_error_of_the_port(
        self, at: PlatformHarness, name: str, choose: Choose, caplog: pytest.LogCaptureFixture
    ) -> None:
        outcomes = list(self._runs(at, name, choose(garbled)))

        assert [outcome for outcome in outcomes if not is_allowed(outcome, name)] == []
        assert [outcome for outcome in outcomes if MARK in outcome.text] == []
        assert MARK not in caplog.text

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_a_field_of_another_type_is_an_error_of_the_port(
        self, at: PlatformHarness, name: str, choose: Choose
    ) -> None:
        outcomes = list(self._runs(at, name, choose(odd_fields)))

        assert [outcome for outcome in outcomes if not is_allowed(outcome, name)] == []

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_a_missing_field_raises_only_errors_of_the_port(
        self, at: PlatformHarness, name: str, choose: Choose
    ) -> None:
        """A field that is absent may have a meaning, also that of a refusal."""
        for outcome in self._runs(at, name, choose(lacking_fields)):
            assert outcome.error is None or isinstance(outcome.error, PlatformError), outcome
            assert name not in SILENT or outcome.error is None, outcome

    def test_no_odd_answer_opens_a_private_chat(self, at: PlatformHarness) -> None:
        for chat in self.chat.chats:
            if len(chat.people) != 1:
                continue
            others = [person for key, person in self.chat.people.items() if key not in (*chat.people, "bot")]

            def resolve(on: Platform, _: Target, chat_id: str = chat.id, people: list[str] = others) -> Any:
                return on.resolve_chat(Place(at.name, chat_id), people=people)

            for answers in (garbled, odd_fields, lacking_fields):
                outcomes = list(self._runs(at, "resolve_chat", answers, operation=resolve))
                assert [outcome for outcome in outcomes if not isinstance(outcome.error, PlatformError)] == []

    def test_an_unreadable_rate_limit_is_one_of_some_seconds(self, at: PlatformHarness) -> None:
        odd = ("", "soon", "-3", "nan", "inf", "1e999", "9" * 400)
        bodies = [b"", PAGE, b"[]", b'{"retry_after": 1e999, "parameters": {"retry_after": 1e999}}']
        bodies += [
            b'{"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast", "ok": false, "code": 0, "message": "Too fast"}'
        ]

        def limits(_: bytes) -> Mapping[str, Response]:
            return {
                f"{value[:9]} {body!r}": Response(429, body, {"retry-after": value}) for value in odd for body in bodies
            }

        for outcome in self._runs(at, "send", limits):
            assert isinstance(outcome.error, RateLimited), outcome
            assert 0 < outcome.error.after < 60, outcome

    def test_every_operation_is_tried(self) -> None:
        named = {name for name in vars(Platform) if not name.startswith("_") and callable(getattr(Platform, name))}

        assert set(OPERATIONS) == named - OFFLINE

    def _runs(
        self,
        at: PlatformHarness,
        name: str,
        answers: Answers,
        *,
        operation: Operation | None = None,
    ) -> Iterator[Outcome]:
        """One run for each call of the operation and each way to answer it."""
        can = at.platform.capabilities
        if (name == "open_thread" and not can.threads) or (name == "edit" and not can.edits):
            return
        run = operation or OPERATIONS[name]
        to = self._target(at)
        if name == "fetch_file":
            to = replace(to, file=self._file(at, to.place))
        with garbling(at) as proxy:
            # On some platforms the handle is a URL.
            handle = to.pressed.handle.replace(at.simulator.url, proxy.url)
            to = replace(to, pressed=replace(to.pressed, handle=handle))
            first = _run(at, proxy, run, to, "as it should be")
            assert operation or first.error is None, first
            for number, answer in enumerate(list(proxy.answers)):
                for way, instead in answers(answer.body).items():
                    request = proxy.requests[number]
                    proxy.replace = {number: instead}
                    yield _run(at, proxy, run, to, f"{name}: {request.method} {request.path}: {way}")

    def _target(self, at: PlatformHarness) -> Target:
        home = self.first_home
        place = self.open(at, home, "first")
        buttons = (Button("go", "Go"),)
        message = at.platform.send(place, Part("words", buttons=buttons), key="words")
        owner = self.chat.people["owner"]
        if not at.platform.capabilities.buttons:
            pressed = Pressed("1", place, owner, "go", message, "none")
            return Target(home, place, message, owner, pressed)
        at.press(home, place, message, "go")
        return Target(home, place, message, owner, at.next_press())

    def _file(self, at: PlatformHarness, place: Place) -> ChatFile:
        at.listen()
        at.write(self.first_home, place, "", files=[given("run.txt", "text/plain", b"words")])
        (file,) = at.next_message().files
        return file


def _run(at: PlatformHarness, proxy: GarblingProxy, run: Operation, to: Target, what: str) -> Outcome:
    proxy.answers.clear()
    before = at.simulator.state() if run in CHANGES.values() else None
    with adapter_through(proxy, at) as platform:
        try:
            value = run(platform, to)
        except Exception as error:  # noqa: BLE001  # the test judges it
            return Outcome(what, error=error, has_changed=before is not None and at.simulator.state() != before)
    return Outcome(what, value)


def is_allowed(outcome: Outcome, name: str) -> bool:
    """Whether the error says what is known: a change may have happened, and a read may be repeated."""
    if outcome.error is None:
        return True
    if name == "fetch_file":
        return isinstance(outcome.error, NotSent | Rejected)  # what comes in place of a file may be final
    if name in SILENT or isinstance(outcome.error, Rejected):
        return False
    if name in CHANGES:
        return isinstance(outcome.error, Ambiguous if outcome.has_changed else Ambiguous | NotSent)
    return isinstance(outcome.error, NotSent if name != "join" else Ambiguous | NotSent)
