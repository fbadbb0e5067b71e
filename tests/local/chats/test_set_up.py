"""The set-up of every platform, with its real SDK against the simulator."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from local.chats import CHATS
from local.chats.real import RealBots
from local.chats.relays.configuration import secret_names, variable
from local.chats.set_up import Person, SetUpFailed, chat_named, set_up, set_up_of
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from local.server.chats import RealChats
from shared.errors import Rejected
from shared.platforms.set_up import AskedSecret, PlainSetUp, Way
from shared.platforms.spec import PlatformSpec
from shared.sqlite.database import Database
from shared.sqlite.secrets import SqliteSecrets
from tests.contracts.platform.toy import CHAT as TOY

GUIDED = [*(chat for chat in CHATS if chat.spec.set_up), TOY]
guided = pytest.mark.parametrize("chat", GUIDED, ids=lambda chat: chat.name)


@pytest.fixture(scope="module")
def platforms() -> Iterator[Simulator]:
    with Simulator([*CHATS, TOY]) as simulator:
        yield simulator


def way(platforms: Simulator, chat: LocalChat, webhook_url: str = "") -> Way:
    return Way(platforms.api_url(chat.name), chat.spec.link_url, webhook_url)


class Typing(Person):
    """A person who types these secrets, and answers questions with `agree`."""

    def __init__(self, *typed: str, may_ask: bool = True, agree: bool = False) -> None:
        super().__init__(may_ask=may_ask)
        object.__setattr__(self, "typed", list(typed))
        object.__setattr__(self, "agree", agree)
        object.__setattr__(self, "shown", [])

    def say(self, text: str) -> None:
        self.__dict__["shown"].append(text)

    def secret(self, asked: AskedSecret) -> str:  # noqa: ARG002  # the interface
        typed: list[str] = self.__dict__["typed"]
        if not typed:
            raise SetUpFailed("no more")
        return typed.pop(0)

    def agrees(self, question: str) -> bool:
        self.say(question)
        return bool(self.__dict__["agree"])

    @property
    def said(self) -> str:
        return "\n".join(self.__dict__["shown"])


def run(platforms: Simulator, chat: LocalChat, person: Typing, webhook_url: str = "", **more: bool) -> dict[str, str]:
    stored: dict[str, str] = {}
    options = {"replace": False, **more}
    set_up(chat, way(platforms, chat, webhook_url), stored.update, {}, person=person, **options)
    return stored


def secrets_of(platforms: Simulator, chat: LocalChat) -> list[str]:
    return [platforms.secrets[secret.name] for secret in set_up_of(chat).asked(way(platforms, chat))]


def test_every_platform_has_a_guide() -> None:
    assert not [chat.name for chat in CHATS if chat.spec.is_supported and chat not in GUIDED]


@guided
def test_what_is_stored_is_all_that_a_bot_on_one_machine_needs(platforms: Simulator, chat: LocalChat) -> None:
    person = Typing(*secrets_of(platforms, chat))
    stored = run(platforms, chat, person)
    environment = {variable(name): value for name, value in stored.items()}
    assert RealBots.from_environment(environment, [chat]).platforms == [chat.name]
    assert "Your bot is" in person.said
    hidden = stored.keys() - {secret.name for secret in set_up_of(chat).asked(Way("", "")) if not secret.is_hidden}
    assert not [name for name in hidden if stored[name] in person.said]


def test_messages_that_no_platform_posts_are_fetched_beside_a_public_address(tmp_path: Path) -> None:
    only = [chat for chat in CHATS if chat.relay and chat.relay.is_only_way]
    assert only
    given = {variable(name): "x" for chat in CHATS for name in secret_names(chat)}
    with closing(Database(tmp_path / "handoff.db")) as database:
        served = RealChats(RealBots.from_environment(given), SqliteSecrets(database), has_public_url=True)
        assert [relay.platform for relay in served.relays("http://127.0.0.1:1")] == [chat.name for chat in only]


@guided
def test_with_an_address_the_service_needs_nothing_else(chat: LocalChat) -> None:
    guide, posting = set_up_of(chat), Way("", "", "https://service.test/webhooks/x")
    given = {secret.name for secret in guide.asked(posting)} | set(guide.generated(posting))
    assert given >= set(chat.spec.secrets)


@guided
def test_each_secret_is_checked_at_once(platforms: Simulator, chat: LocalChat) -> None:
    guide, known = set_up_of(chat), platforms.secrets
    for asked in guide.asked(way(platforms, chat)):
        right = known[asked.name]
        wrong = right[:-4] + ("aaaa" if not right.endswith("aaaa") else "bbbb")
        assert asked.fits(right)
        assert not asked.fits("nonsense here")
        checked = guide.check(asked.name, {**known, asked.name: right}, way(platforms, chat))
        if not checked.said:  # shows only when the platform posts something
            continue
        with pytest.raises(Rejected) as refused:
            guide.check(asked.name, {**known, asked.name: wrong}, way(platforms, chat))
        assert wrong not in str(refused.value)


@guided
def test_a_wrong_secret_is_asked_for_again(platforms: Simulator, chat: LocalChat) -> None:
    first, *others = secrets_of(platforms, chat)
    person = Typing("nonsense", first[:-4] + "aaaa", first, *others)
    assert run(platforms, chat, person)
    assert person.said.count("Try again") == 2


@guided
def test_a_script_has_one_try_and_nothing_is_stored(platforms: Simulator, chat: LocalChat) -> None:
    stored: dict[str, str] = {}
    person = Typing("nonsense", *secrets_of(platforms, chat), may_ask=False)
    with pytest.raises(SetUpFailed, match="Nothing was stored"):
        set_up(chat, way(platforms, chat), stored.update, {}, replace=False, person=person)
    assert stored == {}


@guided
def test_a_platform_that_is_down_stores_nothing(chat: LocalChat) -> None:
    with Simulator([*CHATS, TOY]) as gone:
        there, typed = way(gone, chat), secrets_of(gone, chat)
    stored: dict[str, str] = {}
    with pytest.raises(SetUpFailed, match="did not answer"):
        set_up(chat, there, stored.update, {}, replace=False, person=Typing(*typed, may_ask=False))
    assert stored == {}


def test_a_bot_of_another_service_is_not_taken_unasked(platforms: Simulator) -> None:
    telegram = chat_named("telegram")
    typed = secrets_of(platforms, telegram)
    first = run(platforms, telegram, Typing(*typed), "https://first.test/webhooks/telegram")
    assert len(first["telegram/webhook_secret"]) == 64

    asked = Typing(*typed)
    with pytest.raises(SetUpFailed, match="Nothing was stored or changed"):
        run(platforms, telegram, asked)
    assert "first.test" in asked.said
    assert run(platforms, telegram, Typing(*typed, agree=True))
    run(platforms, telegram, Typing(*typed), "https://first.test/webhooks/telegram")
    assert run(platforms, telegram, Typing(*typed, may_ask=False), replace=True)


def test_a_known_webhook_secret_is_kept(platforms: Simulator) -> None:
    telegram = chat_named("telegram")
    stored: dict[str, str] = {}
    known: Mapping[str, str] = {"telegram/webhook_secret": "k" * 64}
    address = way(platforms, telegram, "https://kept.test/webhooks/telegram")
    set_up(telegram, address, stored.update, known, replace=True, person=Typing(*secrets_of(platforms, telegram)))
    assert stored["telegram/webhook_secret"] == "k" * 64
    run(platforms, telegram, Typing(*secrets_of(platforms, telegram)), replace=True)


def test_a_platform_without_a_guide_asks_for_its_secrets() -> None:
    spec = PlatformSpec("toy", "Toy", threads=True, adapter="x:Y", secrets=("toy/bot_token", "toy/webhook_secret"))
    guide = PlainSetUp(spec, ["toy/webhook_secret"])
    (asked,) = guide.asked(Way("", ""))
    assert (asked.name, asked.prompt) == ("toy/bot_token", "bot token")
    assert guide.generated(Way("", "")) == ["toy/webhook_secret"]


@pytest.mark.parametrize("name", ["pigeon", ""])
def test_an_unknown_platform_is_refused(name: str) -> None:
    with pytest.raises(SetUpFailed, match="telegram"):
        chat_named(name)
