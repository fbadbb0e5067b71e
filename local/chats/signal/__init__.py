"""Signal in local runs."""

import secrets

from local.chats.spec import ChatKind, LocalChat, LocalRelay, RelayOption, SeededChat
from shared.platforms.signal import SPEC

ACCOUNT = "+15550009001"
OWNER, STRANGER = "70010000-aaaa-4aaa-8aaa-000000000001", "70020000-bbbb-4bbb-8bbb-000000000002"
GROUP = "group.Q2FsbSBwZW9wbGUgd2hvIHdyaXRlIHNvZnR3YXJlLg0"
OTHER_GROUP = "group.QW5vdGhlciBncm91cCBvZiBwZW9wbGUgaGVyZSAuLi4"


def _secrets() -> dict[str, str]:
    return {"signal/account": ACCOUNT, "signal/relay_secret": secrets.token_hex(32)}


CHAT = LocalChat(
    SPEC,
    people={"owner": OWNER, "stranger": STRANGER, "bot": "90010000-cccc-4ccc-8ccc-000000000009"},
    chats=(
        SeededChat(OWNER, "Olivia and the bot", "private", ("owner",)),
        SeededChat(GROUP, "Project group", "group"),
        SeededChat(OTHER_GROUP, "Friends", "group"),
        SeededChat(STRANGER, "Sam and the bot", "private", ("stranger",)),
    ),
    homes={"owner": OWNER, "other": OTHER_GROUP},
    wire="local.chats.signal.wire.daemon:Daemon",
    api_url="http://{host}/signal",
    kinds={
        "private": ChatKind("private chat", "private", "@", threads=False),
        "group": ChatKind("group", "group", threads=False),
    },
    tint=("#3a5bb8", "#8aa7f5"),
    relay=LocalRelay(
        "local.chats.signal.relay:SignalRelay",
        secrets=("signal/account", "signal/relay_secret"),
        shared_secrets=("signal/relay_secret",),
        is_only_way=True,
        options=(RelayOption("spool", "Signal: the file that keeps events until the service has stored them"),),
    ),
    make_secrets=_secrets,
    user_id_is_home=True,
    has_token=False,
)
