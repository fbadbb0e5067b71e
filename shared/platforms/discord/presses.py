"""Answers a press of a button, to its person only.

An interaction is first answered once, then followed up. Which of both is due depends on what Discord has got already: the
webhook's own answer (type 6, change nothing) follows only after the press was handled, unless that is done later.

    callback (a message for the sender) ── 40060: answered already ── follow-up message for the sender
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.platforms.discord.errors import ALREADY_ANSWERED, DiscordRefused
from shared.platforms.discord.inbound import HANDLE, ONLY_FOR_THE_SENDER, REPLY
from shared.platforms.discord.seeds import NO_MENTIONS
from shared.platforms.markdown.clean import clean

if TYPE_CHECKING:
    from shared.platforms.discord.rest import DiscordHttp

_LIMIT = 2000


async def acknowledge(http: DiscordHttp, handle: str, text: str) -> None:
    """Raises PlatformErrors. Without a text nothing is shown."""
    known = HANDLE.fullmatch(handle)
    if known is None or not text.strip():
        return
    application, interaction, token = known.groups()
    message = {"content": clean(text)[:_LIMIT], "flags": ONLY_FOR_THE_SENDER, "allowed_mentions": NO_MENTIONS}
    path = "/interactions/{interaction_id}/{interaction_token}/callback"
    answer = {"type": REPLY, "data": message}
    try:
        await http.call("POST", path, answer, interaction_id=interaction, interaction_token=token)
    except DiscordRefused as refusal:
        if refusal.code != ALREADY_ANSWERED:
            raise
        path = "/webhooks/{application_id}/{interaction_token}"
        await http.call("POST", path, message, application_id=application, interaction_token=token)
