"""The rights that a Discord bot is invited with."""

from shared.platforms.discord.diagnosis import _NEEDS
from shared.platforms.discord.permissions import ATTACH_FILES
from shared.platforms.discord.set_up import RIGHTS


def test_the_invite_asks_for_exactly_the_needed_rights() -> None:
    needed = ATTACH_FILES
    for rights in _NEEDS.values():
        for bit in rights.values():
            needed |= bit
    assert needed == RIGHTS
