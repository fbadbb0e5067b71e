"""Two toy platforms, one without threads and buttons: complete, but listed nowhere. Copy this folder for a new one."""

from dataclasses import replace

from local.chats.spec import ChatKind, LocalChat, SeededChat
from shared.platforms.spec import PlatformSpec

SPEC = PlatformSpec(
    name="toy",
    title="Toy",
    threads=True,
    adapter="tests.contracts.platform.toy.adapter:Toy",
    set_up="tests.contracts.platform.toy.set_up:ToySetUp",
    secrets=("toy/bot_token", "toy/webhook_secret"),
    api_url="https://toy.example/api",
    link_url="https://toy.example/open",
    chat_id=r"[A-Za-z]{1,20}",
    lazy_imports=("tests.contracts.platform.toy.api",),
    body_limit=2 * 1024 * 1024,
)
CHAT = LocalChat(
    SPEC,
    people={"owner": "ann", "stranger": "joe", "bot": "bot"},
    chats=(
        SeededChat("lounge", "Lounge", "room"),
        SeededChat("studio", "Studio", "room"),
        SeededChat("note", "Note to the bot", "note", ("owner",)),
        SeededChat("memo", "Memo to the bot", "note", ("stranger",)),
    ),
    homes={"owner": "lounge", "other": "studio"},
    wire="tests.contracts.platform.toy.wire:ToyWire",
    title_limit=60,
    api_url="http://{host}/toy/api",
    kinds={"room": ChatKind("room", "room", names_people=True), "note": ChatKind("note", "note", threads=False)},
)

PLAIN_SPEC = replace(
    SPEC,
    name="plaintoy",
    title="Plain Toy",
    threads=False,
    set_up=None,
    adapter="tests.contracts.platform.toy.adapter:PlainToy",
    secrets=("plaintoy/bot_token", "plaintoy/webhook_secret"),
)
PLAIN_CHAT = replace(
    CHAT,
    spec=PLAIN_SPEC,
    api_url="http://{host}/plaintoy/api",
    kinds={"room": ChatKind("room", "room", threads=False), "note": ChatKind("note", "note", threads=False)},
)
