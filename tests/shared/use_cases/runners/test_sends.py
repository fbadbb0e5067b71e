"""Files that an agent sends while it works: posted once, or said why not."""

import contextlib
import hashlib

import pytest

from shared.domain.files import StoredFile
from shared.domain.questions import QuestionState
from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, Rejected, TurnEnded
from shared.store.bundle import Store
from shared.use_cases.deliver import FILE_LIMIT as SENDERS_LIMIT
from shared.use_cases.deliver import REPEAT_MARK, deliver_files
from shared.use_cases.files.keep_file import keep_file
from shared.use_cases.runners.report_turn import Asked
from shared.use_cases.runners.send_file import Send, Sent
from shared.use_cases.sessions.resume_session import resume_session
from tests.support.fake_platform import CAPTION_LIMIT, FILE_LIMIT, Idempotency, Post
from tests.support.machine import OPTIONS, Machine, post, press
from tests.support.use_case_world import USER, World

PNG = b"\x89PNG" + b"plot" * 20
WAYS: list[Idempotency] = ["key", "readback", "both", "none"]


class Sender:
    """A machine at work that sends files."""

    def __init__(self, world: World) -> None:
        self.world, self.machine = world, Machine(world)
        self.place = self.machine.moved()
        post(world, self.place, "0001", "And?")
        self.machine.start()

    def store(self, content: bytes = PNG, name: str = "plot.png") -> str:
        digest = hashlib.sha256(content).hexdigest()
        file = StoredFile(digest, name, "image/png", len(content))
        keep_file(self.world.services, self.world.current(), file, [content])
        return digest

    def send(self, file: str | None = None, number: int = 1, **more: object) -> Sent:
        """Report it once, and let the queue work."""
        (sent,) = self.machine.report(sends=[Send(number, file or self.store(), **more)]).sent  # type: ignore[arg-type]
        self.world.messages()
        return sent

    def became(self, number: int = 1) -> Sent:
        (sent,) = self.machine.report(sends=[Send(number, self.store())]).sent
        return sent

    @property
    def files(self) -> list[Post]:
        return [one for one in self.world.platform.posts[self.place] if one.file]


@pytest.fixture
def sender(world: World) -> Sender:
    return Sender(world)


@pytest.fixture(params=WAYS)
def any_sender(store: Store, request: pytest.FixtureRequest) -> Sender:
    return Sender(World(store, idempotency=request.param))


def shown(sender: Sender) -> list[str]:
    return sender.world.platform.said(sender.place)[1:]


def test_a_file_is_posted_with_its_caption_while_the_agent_works(sender: Sender) -> None:
    assert sender.send(caption="The **plot**.").state == "waiting"
    (posted,) = sender.files
    assert (posted.file, posted.content, posted.text) == ("plot.png", PNG, "The **plot**.")
    for _ in range(2):
        assert sender.became() == Sent(1, "sent")
    assert len(sender.files) == 1


def test_a_long_caption_goes_on_as_text(sender: Sender) -> None:
    caption = "\n".join(f"line {number} of what the plot shows" for number in range(60))
    sender.send(caption=caption)
    (posted,) = sender.files
    assert 0 < len(posted.text) <= CAPTION_LIMIT - len(REPEAT_MARK)
    assert "\n".join(shown(sender)) == caption


def test_two_files_are_two_messages(sender: Sender) -> None:
    sender.send(sender.store(b"one", "1.png"))
    sender.send(sender.store(b"two", "2.png"), number=2)
    assert [one.file for one in sender.files] == ["1.png", "2.png"]


def test_a_file_over_the_platforms_limit_is_said_with_its_path(sender: Sender) -> None:
    big = sender.store(b"x" * (FILE_LIMIT + 1), "big.zip")
    sender.send(big, path="out/big.zip", caption="All of it")
    assert sender.files == []
    (said,) = shown(sender)
    assert said == (
        "All of it\n\n`big.zip` (100 kB) is not sent: at most 100 kB can be sent here. It is on your machine: `out/big.zip`"
    )
    became = sender.became()
    assert (became.state, became.reason) == ("rejected", "at most 100 kB can be sent here; the chat says where it is")


def test_a_refusal_of_the_platform_is_told(sender: Sender) -> None:
    sender.world.platform.next["send_file"].append(Rejected("the chat takes no pictures"))
    sender.send()
    became = sender.became()
    assert (became.state, became.reason) == ("rejected", "the chat takes no pictures")


def test_a_file_that_was_never_stored_is_refused(sender: Sender) -> None:
    assert sender.send("0" * 64).state == "rejected"
    assert sender.files == []


def test_a_file_that_is_gone_when_it_is_its_turn_is_refused(sender: Sender) -> None:
    sender.world.platform.next["send_file"].append(NotSent("down"))
    sender.send()
    sender.world.files.stored.clear()
    sender.world.wait(200)
    sender.world.messages()
    assert (sender.became().state, sender.files) == ("rejected", [])


def test_a_file_that_was_not_taken_arrives_later(any_sender: Sender) -> None:
    any_sender.world.platform.next["send_file"].extend([NotSent("down"), NotSent("down")])
    any_sender.send(caption="Look.")
    assert any_sender.became().state == "waiting"
    for _ in range(2):
        any_sender.world.wait(200)
        any_sender.world.messages()
    assert [one.text for one in any_sender.files] == ["Look."]
    assert any_sender.became().state == "sent"


def test_a_lost_answer_doubles_no_file_without_a_mark(any_sender: Sender) -> None:
    world = any_sender.world
    world.platform.accepts_before_failing = True
    world.platform.next["send_file"].append(Ambiguous("reset after acceptance"))
    any_sender.send(caption="Look.")
    repeat = ["Look." + REPEAT_MARK] if world.idempotency == "none" else []
    assert [one.text for one in any_sender.files] == ["Look.", *repeat]
    assert any_sender.became().state == "sent"


def test_a_second_doubt_is_the_end_of_it(store: Store) -> None:
    sender = Sender(World(store, idempotency="none"))
    sender.world.platform.accepts_before_failing = True
    sender.world.platform.next["send_file"].extend([Ambiguous("reset"), Ambiguous("reset")])
    sender.send(caption="")
    assert [one.text for one in sender.files] == ["", REPEAT_MARK.strip()]
    assert sender.became().state == "doubtful"
    sender.machine.result()
    sender.world.messages()
    assert len(sender.files) == 2
    assert shown(sender)[-1] == "Done.", "it holds up nothing"


def test_a_repeat_that_was_begun_by_a_process_that_died_is_not_begun_again(store: Store) -> None:
    sender = Sender(World(store, idempotency="none"))

    def die() -> None:
        raise KeyboardInterrupt

    world = sender.world
    world.platform.next["send_file"].extend([die, die])
    with pytest.raises(KeyboardInterrupt):
        sender.send()
    for trouble in (KeyboardInterrupt, None):
        world.wait(SENDERS_LIMIT / 1000)
        offer = world.store.turns.get("s-1", sender.machine.turn.id)
        assert offer
        with pytest.raises(trouble) if trouble else contextlib.nullcontext():
            deliver_files(world.services, offer, until=world.clock.now() + 1)
    assert (sender.became().state, sender.files) == ("doubtful", [])


def test_what_waits_is_posted_before_the_reply(sender: Sender) -> None:
    sender.world.platform.next["send_file"].append(NotSent("down"))
    sender.send()
    sender.machine.result("Here is the plot.")
    for _ in range(3):
        sender.world.wait(200)
        sender.world.messages()
    posts = sender.world.platform.posts[sender.place]
    assert [one.file or one.text for one in posts][1:] == ["plot.png", "Here is the plot."]


def test_after_stop_nothing_more_is_posted(sender: Sender) -> None:
    sender.world.platform.next["send_file"].append(NotSent("down"))
    sender.send()
    post(sender.world, sender.place, "0002", "/stop")
    with pytest.raises(TurnEnded):
        sender.send(number=2)
    for _ in range(3):
        sender.world.wait(200)
        sender.world.messages()
    assert sender.files == []


def test_after_a_move_nothing_more_is_posted(sender: Sender) -> None:
    sender.world.platform.next["send_file"].append(NotSent("down"))
    sender.send()
    resume_session(sender.world.services, USER, "s-1", epoch=sender.world.current().epoch)
    with pytest.raises(TurnEnded):
        sender.send(number=2)
    for _ in range(3):
        sender.world.wait(200)
        sender.world.messages()
    assert sender.files == []


def _asked(sender: Sender, place: Place, index: int) -> str:
    sender.machine.ask(1, "Send plot.png?")
    sender.world.messages()
    return press(sender.world, place, f"q.{sender.machine.turn.id}.1.1.{index}")


def test_in_a_shared_thread_it_waits_for_the_owners_permission(sender: Sender) -> None:
    post(sender.world, sender.place, "0002", "/share")
    assert sender.send().state == "ask"
    assert sender.send(asked=1).state == "ask", "nothing was asked yet"
    _asked(sender, sender.place, 0)
    assert sender.files == []
    assert sender.send(asked=1).state == "waiting"
    assert len(sender.files) == 1


def test_a_refused_question_lets_nothing_out(sender: Sender) -> None:
    post(sender.world, sender.place, "0002", "/share")
    _asked(sender, sender.place, 2)
    assert sender.send(asked=1).state == "ask"
    assert sender.files == []


def _ask_with_file(sender: Sender, file: str) -> None:
    sender.machine.report(asked=[Asked(1, "Run it?", OPTIONS, detail="…", file=file)])
    sender.world.messages()


def _labels(sender: Sender) -> list[str]:
    return [button.label for one in sender.world.platform.posts[sender.place] for button in one.buttons]


def test_a_question_with_a_file_can_be_allowed_once_it_was_sent(sender: Sender) -> None:
    file = sender.store(b"all of it", "question.txt")
    sender.world.platform.next["send_file"].append(NotSent("down"))
    _ask_with_file(sender, file)
    assert _labels(sender) == [], "the buttons come after the file"
    button = f"q.{sender.machine.turn.id}.1.1.0"
    assert press(sender.world, sender.place, button) != "Allow."
    sender.world.wait(200)
    sender.world.messages()
    assert [one.content for one in sender.files] == [b"all of it"]
    assert press(sender.world, sender.place, button) == "Allow."


@pytest.mark.parametrize("size", [FILE_LIMIT + 1, 0])
def test_where_its_file_cannot_be_posted_nothing_can_be_allowed(sender: Sender, size: int) -> None:
    _ask_with_file(sender, sender.store(b"x" * size) if size else "0" * 64)
    assert _labels(sender) == ["Reject"]
    assert any("too long to show here" in text for text in shown(sender))


@pytest.mark.parametrize("trouble", [[Rejected("no")], [Ambiguous("reset"), Ambiguous("reset")]])
def test_a_question_whose_file_is_lost_is_declined(store: Store, trouble: list[Exception]) -> None:
    sender = Sender(World(store, idempotency="none"))
    sender.world.platform.next["send_file"].extend(trouble)
    _ask_with_file(sender, sender.store(b"all of it"))
    (decided,) = sender.machine.report().decided
    assert decided.state is QuestionState.DECLINED
    assert press(sender.world, sender.place, f"q.{sender.machine.turn.id}.1.1.0") != "Allow."
