"""Every platform against the contract, in every kind of home."""

from shared.platforms.markdown.split import utf16
from tests.contracts.platform_contract import PlatformContract
from tests.contracts.platform_contract_threadless import Threadless


class TestTelegram(PlatformContract, Threadless):
    name = "telegram"
    homes = ("7001", "-1001000000001")  # a private chat with topics, a forum
    threadless = ("-1002",)  # a plain group
    measure = staticmethod(utf16)
    calls = ("@everyone", "@here", "@stranger")  # angle brackets are plain words on Telegram


class TestSlack(PlatformContract):
    name = "slack"
    homes = ("C0HOME", "D0OWNER")  # a channel, direct messages


class TestDiscord(PlatformContract, Threadless):
    name = "discord"
    homes = ("6001000000000000001", "6002000000000000002")  # a text channel, a forum channel
    threads_only = ("6002000000000000002",)
    threadless = ("6003000000000000003",)  # direct messages
    said = "/say go on, please"  # ordinary messages come through a relay; a command comes by itself
