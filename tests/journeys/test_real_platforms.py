"""A local run with real bots: a second simulator stands for the platforms and calls no webhook."""

import uuid
from collections.abc import Iterator

import pytest

from local.chats import CHATS
from local.chats.real import RealBots
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from local.service import LocalService
from shared.store.bundle import store_on
from tests.support.api_user import ApiUser
from tests.support.memory_tables import MemoryTables
from tests.support.platform_cases import HOMES, RELAYED, THREADED
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def platforms() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def run(platforms: Simulator) -> Iterator[LocalService]:
    bots = [chat for chat in CHATS if chat.relay]
    environment = {name: value for chat in bots for name, value in variables(chat, platforms).items()}
    with LocalService(mode="in_process", real=RealBots.from_environment(environment)) as running:
        yield running


def variables(chat: LocalChat, platforms: Simulator) -> dict[str, str]:
    """What an operator sets for one bot: the tokens, the addresses, the user and their home."""
    assert chat.relay is not None
    tokens = {*chat.spec.secrets, *chat.relay.secrets} - set(chat.relay.shared_secrets)
    return {
        **{name.replace("/", "_").upper(): platforms.secrets[name] for name in tokens},
        **{f"{chat.name}_{name}".upper(): url for name, url in platforms.relay_options(chat.name).items()},
        f"{chat.name}_API_URL".upper(): platforms.api_url(chat.name),
        f"{chat.name}_USER_ID".upper(): chat.people["owner"],
        f"{chat.name}_HOME".upper(): chat.homes["owner"],
    }


@pytest.mark.parametrize("platform", RELAYED)
def test_replies_come_back_without_a_tunnel(run: LocalService, platforms: Simulator, platform: str) -> None:
    user, title = ApiUser(run), f"real {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(title=title)

    done = user.hand_off(session_id, platform)

    assert (done["state"], done["error"]) == ("completed", None)
    chats = platforms.state()["platforms"][platform]["chats"]
    threads = [thread["id"] for chat in chats for thread in chat["threads"] if title in thread["title"]]
    assert len(threads) == (platform in THREADED)
    platforms.say(platform, HOMES[platform], "from the couch", thread=next(iter(threads), None))
    eventually(lambda: "from the couch" in user.contents(session_id))
    assert user.threads(title, platform) == []


def test_without_a_linked_account_the_description_says_so() -> None:
    real = RealBots.from_environment({"TELEGRAM_BOT_TOKEN": "1:a"})

    assert real.platforms == ["telegram"]
    (line,) = real.described(store_on(MemoryTables()))
    assert "handoff link telegram" in line
