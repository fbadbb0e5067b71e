"""`handoff setup --stack`: secrets into SSM, and the webhook to the API, with the real SDKs against simulators."""

import io
import sys
from collections.abc import Iterator

import pytest

from local.chats import CHATS
from local.chats.set_up import Person, set_up_of
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from local.cloud.engine import Engine
from local.operate.deploy.aws import Account
from local.operate.set_up import main
from shared.aws.secrets import SsmSecrets
from shared.platforms.set_up import AskedSecret, Way
from shared.voice.openai import KEY
from tests.support.aws_session import Session, Stacks
from tests.support.servers import HttpServer, json_response

API = "https://api.test"
POSTING = [chat for chat in CHATS if chat.spec.set_up and not (chat.relay and chat.relay.is_only_way)]


@pytest.fixture
def platforms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    with Simulator() as simulator:
        for chat in CHATS:
            monkeypatch.setenv(f"{chat.name.upper()}_API_URL", simulator.api_url(chat.name))
        yield simulator


def typed(platforms: Simulator, chat: LocalChat, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked = set_up_of(chat).asked(Way("", "", f"{API}/webhooks/{chat.name}"))
    values = [platforms.secrets[secret.name] for secret in asked]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{value}\n" for value in values)))
    return values


def run(engine: Engine, chat: LocalChat, prefix: str, *more: str, person: Person | None = None) -> int:
    tables = {"HandoffsTableName": "handoffs", "SessionsTableName": "sessions"}
    stacks = Stacks({"ApiUrl": API, "SecretsPrefix": prefix, **tables})
    account = Account(Session(cloudformation=stacks, ssm=engine.client("ssm")))
    return main([chat.name, "--stack", "handoff", *more], account=account, person=person or Person(may_ask=False))


@pytest.mark.parametrize("chat", POSTING, ids=lambda chat: chat.name)
def test_a_bot_is_set_up(
    engine: Engine,
    platforms: Simulator,
    chat: LocalChat,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    values, prefix = typed(platforms, chat, monkeypatch), f"/set-up-{chat.name}"

    assert run(engine, chat, prefix) == 0

    secrets = SsmSecrets(engine.client("ssm"), prefix)
    assert all(secrets.get(name) for name in chat.spec.secrets)
    shown = capsys.readouterr()
    assert "Your bot is" in shown.out
    assert not [value for value in values if value in shown.out + shown.err]


def test_a_platform_for_one_machine_is_refused_before_anything_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["signal", "--stack", "handoff"], account=Account(None), person=Person(may_ask=False)) == 1
    said = capsys.readouterr()
    assert "Signal works on one machine only" in said.err
    assert "Nothing was stored" in said.err
    assert said.out == ""


def test_telegram_posts_to_the_deployment(
    engine: Engine, platforms: Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (telegram,) = [chat for chat in CHATS if chat.name == "telegram"]
    for more, code in (((), 0), ((), 0)):
        typed(platforms, telegram, monkeypatch)
        assert run(engine, telegram, "/set-up-again", *more) == code
    guide = set_up_of(telegram)
    known = {name: platforms.secrets[name] for name in telegram.spec.secrets}
    assert guide.used_by(known, Way(platforms.api_url("telegram"), "", f"{API}/webhooks/telegram")) == ""
    assert guide.used_by(known, Way(platforms.api_url("telegram"), "")) == "api.test"
    capsys.readouterr()


def test_a_wrong_secret_stores_nothing(
    engine: Engine, platforms: Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert platforms
    (telegram,) = [chat for chat in CHATS if chat.name == "telegram"]
    for value in ("1234:" + "x" * 35, "nonsense", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{value}\n" if value else ""))
        assert run(engine, telegram, "/set-up-wrong") == 1
        shown = capsys.readouterr()
        assert "Nothing was stored" in shown.err
        assert not value or value not in shown.out + shown.err
    assert SsmSecrets(engine.client("ssm"), "/set-up-wrong").get("telegram/bot_token") is None


class Speaking(Person):
    """A person who chooses what transcribes."""

    def __init__(self, *lines: str) -> None:
        super().__init__(may_ask=True)
        object.__setattr__(self, "lines", list(lines))

    def secret(self, asked: AskedSecret) -> str:  # noqa: ARG002  # the interface
        return sys.stdin.readline().strip()

    def line(self, question: str) -> str:  # noqa: ARG002  # the interface
        return str(self.__dict__["lines"].pop(0))

    hidden = line


def test_a_server_for_voice_messages_gets_its_key_and_the_command_for_the_rest(
    engine: Engine, platforms: Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (telegram,) = [chat for chat in CHATS if chat.name == "telegram"]
    typed(platforms, telegram, monkeypatch)
    with HttpServer(json_response({"text": ""})) as server:
        assert run(engine, telegram, "/voice", person=Speaking("2", "w 1", server.url, "sk-1")) == 0
    said = capsys.readouterr().out
    assert f"handoff deploy --stack handoff --set VoiceModel='w 1' --set VoiceUrl={server.url}" in said
    assert "sk-1" not in said
    assert SsmSecrets(engine.client("ssm"), "/voice").get(KEY) == "sk-1"


def test_a_program_for_voice_messages_is_a_line_for_the_runner(
    engine: Engine, platforms: Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (telegram,) = [chat for chat in CHATS if chat.name == "telegram"]
    typed(platforms, telegram, monkeypatch)
    assert run(engine, telegram, "/voice", person=Speaking("3", "transcribe --language 'en'")) == 0
    assert 'voice = ["transcribe", "--language", "en"]' in capsys.readouterr().out
