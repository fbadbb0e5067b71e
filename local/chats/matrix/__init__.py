"""Matrix in local runs."""

from dataclasses import dataclass

from local.chats.spec import ChatKind, LocalChat, LocalRelay, SeededChat
from shared.platforms.matrix import SPEC

SERVER = "chat.test"


@dataclass(frozen=True)
class MatrixOptions:
    """`encrypted` are the rooms whose messages the bot cannot read, `pushers` the addresses that are pushed to."""

    encrypted: tuple[str, ...] = ()
    pushers: tuple[str, ...] = ()


CHAT = LocalChat(
    SPEC,
    people={"owner": f"@olivia:{SERVER}", "stranger": f"@sam:{SERVER}", "bot": f"@handoff:{SERVER}"},
    chats=(
        SeededChat(f"!agents:{SERVER}", "Agents", "room"),
        SeededChat(f"!olivia:{SERVER}", "Olivia and the bot", "direct", ("owner",)),
        SeededChat(f"!general:{SERVER}", "General", "room"),
        SeededChat(f"!sam:{SERVER}", "Sam and the bot", "direct", ("stranger",)),
    ),
    homes={"owner": f"!agents:{SERVER}", "other": f"!general:{SERVER}"},
    wire="local.chats.matrix.wire.api:Homeserver",
    api_url="http://{host}/matrix",
    title_limit=150,
    kinds={"room": ChatKind("room", "room"), "direct": ChatKind("direct messages", "direct", "@")},
    tint=("#0a6b52", "#59cba9"),
    reply_threads=True,
    relay=LocalRelay(
        "local.chats.matrix.relay:MatrixRelay",
        secrets=("matrix/bot_token", "matrix/webhook_secret"),
        shared_secrets=("matrix/webhook_secret",),
    ),
    options=MatrixOptions(),
    mentions=("@everyone", "@here", "@room", "@Room"),
)
