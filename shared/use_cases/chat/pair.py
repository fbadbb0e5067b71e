"""Pair an account: a message with a code from an account that is not known yet, or may move its user's home."""

import contextlib
import logging
from dataclasses import replace

from shared.domain.links import Link, LinkState, code_in_command, code_in_words
from shared.domain.routes import notices_at
from shared.errors import PlatformError
from shared.ports.inbound import Inbound
from shared.ports.platforms import Platform
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.people.links import hash_of_code
from shared.use_cases.people.login import offer_login
from shared.use_cases.people.tell_chats import tell_linked
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)
LINKED = "/link"
"""Takes the place of the message in the inbox, where its answer is written: a code is not stored."""
REFUSED = "/link ?"
SEEN_BY_OTHERS = (
    "Others can see this code, so it was made void, and nothing was linked. Make a new one in the terminal with "
    "`handoff link`, and send it to me in a private chat."
)


def pair(services: Services, platform: Platform, inbound: Inbound, user_id: str | None) -> tuple[Inbound, str | None]:
    """The message to go on with, and its user. Safe to repeat: a redelivery of the message that was paired is paired.

    A stranger whose code is not valid stays unknown, and gets no answer. Costs nothing for messages without a code.
    """
    command = code_in_command(inbound.text)
    code = command or code_in_words(inbound.text, is_private=inbound.private)
    if code is None:
        return inbound, user_id
    refused = replace(inbound, text=REFUSED) if command else inbound
    links, now = services.store.links, services.clock.now()
    if not on_conflict(lambda: links.count_try(platform.name, inbound.sender, inbound.event_id, now=now)):
        log.info("%s: too many tries to pair by one sender", platform.name)
        return (inbound, None) if command else (inbound, user_id)
    if inbound.addressee is not None and not platform.is_me(inbound.addressee):
        return inbound, user_id
    link = links.find(platform.name, hash_of_code(platform.name, code))
    if link is None or not (link.is_open(now) or _is_redelivery(link, inbound)):
        return refused, user_id
    is_private = _is_private(platform, inbound)
    if is_private is None:
        return refused, user_id
    if not is_private:
        _void(services, platform, inbound, link)
        return inbound, None
    if link.is_open(now) and not on_conflict(
        lambda: links.use(
            link,
            inbound.sender,
            inbound.place.home,
            inbound.event_id,
            now=now,
            name=inbound.name,
            chats=services.store.accounts.chats(link.user_id),
        )
    ):
        return refused, user_id
    for news in links.untold(link.id):
        tell_linked(services, news)
    log.info("%s: an account was linked to %s", platform.name, link.user_id)
    return replace(inbound, text=LINKED, private=True), link.user_id


def answer_link(services: Services, row: InboxRow, argument: str) -> str:
    """The answer to `/link`, once the code is used or refused."""
    if argument:
        return (
            "This code is not valid: it is wrong, too old, or was used or revoked. Nothing was changed. `handoff link` in the "
            "terminal makes a new one."
        )
    home = services.store.accounts.home(row.user_id, row.place.platform)
    if home != row.place.home:
        where = "elsewhere: send `/sethome` to let them arrive here" if home else "nowhere yet: send `/sethome`"
        return f"This account is linked to {row.user_id}. Handoffs arrive {where}."
    said = f"Linked: you are {row.user_id}, and your handoffs arrive in this chat. `/help` lists what you can do here."
    # A repeat must not offer another login: the text with the first one is in the outbox, and is what will be sent.
    is_told = bool(services.store.outbox.journal(notices_at(row.place), f"told-{row.event_id}"))
    url = offer_login(services, row.user_id) if row.private and not is_told else None
    if url is None:
        return said
    how = "In your terminal, run `handoff login` and paste this link. It works once, within half an hour."
    return f"{said}\n\n{how}\n\n```\n{url}\n```"


def _is_private(platform: Platform, inbound: Inbound) -> bool | None:
    """Whether only the sender and the bot are in the chat; None if that cannot be found out now: the sender tries again."""
    if inbound.private or platform.capabilities.tells_private:
        return inbound.private
    try:
        return platform.is_private(inbound.place.home, person=inbound.sender)
    except PlatformError:
        return None


def _is_redelivery(link: Link, inbound: Inbound) -> bool:
    """The first delivery may have died after the write: then the answer is still to be given."""
    is_same = (link.account, link.event_id) == (inbound.sender, inbound.event_id)
    return link.state is LinkState.LINKED and is_same


def _void(services: Services, platform: Platform, inbound: Inbound, link: Link) -> None:
    if on_conflict(lambda: services.store.links.void(link)):
        with contextlib.suppress(PlatformError):
            platform.send(inbound.place, platform.render(SEEN_BY_OTHERS)[0], key=f"void {link.id}")
