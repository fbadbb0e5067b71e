"""Which platforms of a local run use a real bot, and with which secrets."""

from local.chats.real import RealBots
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables


def platforms(**environment: str) -> list[str]:
    return RealBots.from_environment(environment).platforms


def test_a_platform_is_real_when_all_its_tokens_are_set() -> None:
    assert platforms() == []
    assert platforms(SLACK_APP_TOKEN="xapp-1") == []
    assert platforms(SLACK_APP_TOKEN="xapp-1", SLACK_BOT_TOKEN="xoxb-1") == ["slack"]
    assert platforms(TELEGRAM_BOT_TOKEN="1:a", DISCORD_BOT_TOKEN="d") == ["telegram", "discord"]


def test_missing_shared_secrets_are_generated() -> None:
    environment = {"TELEGRAM_BOT_TOKEN": " 1:a ", "DISCORD_BOT_TOKEN": "d", "DISCORD_RELAY_SECRET": "given"}
    first, second = (RealBots.from_environment(environment).secrets() for _ in range(2))
    assert (first["telegram/bot_token"], first["discord/relay_secret"]) == ("1:a", "given")
    assert len(first["telegram/webhook_secret"]) >= 32
    assert first["telegram/webhook_secret"] != second["telegram/webhook_secret"]


def test_only_the_app_token_stays_with_the_relay() -> None:
    real = RealBots.from_environment({"SLACK_APP_TOKEN": "xapp-1", "SLACK_BOT_TOKEN": "xoxb-1"})
    assert set(real.secrets()) == {"slack/bot_token", "slack/signing_secret"}
    assert real.bots[0].secrets["slack/app_token"] == "xapp-1"


def test_secrets_are_not_in_the_representation() -> None:
    assert "1:a" not in repr(RealBots.from_environment({"TELEGRAM_BOT_TOKEN": "1:a"}))


def test_a_private_chat_is_the_default_home() -> None:
    bot = RealBots.from_environment({"TELEGRAM_BOT_TOKEN": "1:a", "TELEGRAM_USER_ID": "77"}).bots[0]
    assert bot.home == "77"


def test_a_home_and_addresses_can_be_set() -> None:
    environment = {
        "DISCORD_BOT_TOKEN": "d",
        "DISCORD_USER_ID": "1",
        "DISCORD_HOME": "6",
        "DISCORD_API_URL": "http://api",
        "DISCORD_GATEWAY_URL": "ws://gateway",
    }
    (bot,) = RealBots.from_environment(environment).bots
    assert (bot.home, bot.api_url, bot.relay_options) == ("6", "http://api", {"gateway_url": "ws://gateway"})
    store = store_on(MemoryTables())
    RealBots((bot,)).seed(store)
    assert bot.described(store) == "discord: handoffs arrive in chat 6"


def test_ids_of_another_form_are_faults() -> None:
    environment = {"TELEGRAM_BOT_TOKEN": "1:a", "TELEGRAM_USER_ID": "@me", "TELEGRAM_HOME": "07001"}
    faults = list(RealBots.from_environment(environment).faults())
    assert [fault.partition("=")[0] for fault in faults] == ["TELEGRAM_USER_ID", "TELEGRAM_HOME"]
