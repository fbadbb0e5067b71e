"""The buttons of a message as Discord's components, and answers to presses, for the person who pressed only.

An interaction is first answered once, then followed up. Which of both is due depends on what Discord has got already: the
webhook's own answer (type 6, change nothing) follows only after the press was handled, unless that is done later.

    callback (a message for the sender) ── 40060: answered already ── follow-up message for the sender
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.platforms.discord.errors import ALREADY_ANSWERED, DiscordRefused
from shared.platforms.discord.inbound import HANDLE, ONLY_FOR_THE_SENDER, REPLY
from shared.platforms.discord.seeds import NO_MENTIONS
from shared.platforms.markdown.clean import clean
from shared.platforms.markdown.clean import title as as_title
from shared.ports.platforms import Button

if TYPE_CHECKING:
    from shared.platforms.discord.rest import DiscordHttp

ACTION_ROW, BUTTON = 1, 2
_STYLES = {"primary": 1, "default": 2, "danger": 4}
_LABEL_LIMIT = 80
_ROW = 5
_ANSWER_LIMIT = 2000


def as_components(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    rows = [buttons[start : start + _ROW] for start in range(0, len(buttons), _ROW)]
    return [{"type": ACTION_ROW, "components": [_button(button) for button in row]} for row in rows]


async def acknowledge(http: DiscordHttp, handle: str, text: str) -> None:
    """Raises PlatformErrors. Without a text nothing is shown."""
    known = HANDLE.fullmatch(handle)
    if known is None or not text.strip():
        return
    application, interaction, token = known.groups()
    message = {"content": clean(text)[:_ANSWER_LIMIT], "flags": ONLY_FOR_THE_SENDER, "allowed_mentions": NO_MENTIONS}
    path = "/interactions/{interaction_id}/{interaction_token}/callback"
    answer = {"type": REPLY, "data": message}
    try:
        await http.call("POST", path, answer, interaction_id=interaction, interaction_token=token)
    except DiscordRefused as refusal:
        if refusal.code != ALREADY_ANSWERED:
            raise
        path = "/webhooks/{application_id}/{interaction_token}"
        await http.call("POST", path, message, application_id=application, interaction_token=token)


def _button(button: Button) -> dict[str, Any]:
    label = as_title(button.label, _LABEL_LIMIT)
    return {"type": BUTTON, "style": _STYLES[button.style], "label": label, "custom_id": button.id}
