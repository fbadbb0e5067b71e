"""Make pairing codes: for the user's own accounts on platforms, and for people who are invited."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.links import LIFETIME, Link, LinkedAccount, LinkState, new_code, shown
from shared.errors import InvalidRequest, Unauthenticated, UserExists
from shared.ports.platforms import Pairing
from shared.services import Services
from shared.use_cases.access import refuse_unusable_platform
from shared.use_cases.people.authenticate import Caller
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.people.tell_chats import tell_unlinked


@dataclass(frozen=True)
class NewLink:
    """A link with its code, which is not stored, and how to send it."""

    link: Link
    code: str
    pairing: Pairing


def hash_of_code(platform: str, code: str) -> str:
    """The hash that is stored. A slow one: a code has 39 bits, and who can read the table must not find it in time."""
    return hashlib.scrypt(code.encode(), salt=f"handoff {platform}".encode(), n=2**13, r=8, p=1, dklen=32).hex()


def create_link(services: Services, caller: Caller, platform: str, *, moves_home: bool = False) -> NewLink:
    """A code for an account of the caller on a platform. An earlier one is void. `moves_home`: also from another chat.

    Raises UnknownPlatform, PlatformNotSupported, PlatformNotConfigured, InvalidRequest if the caller's token has an expiry,
    or Unauthenticated if it was revoked.
    """
    return _create(services, caller, platform, caller.user_id, moves_home=moves_home)


def invite(services: Services, caller: Caller, name: str, platform: str, *, base_url: str) -> NewLink:
    """A code with which another person becomes the user `name`. The name is taken when it is used. Raises UserExists, too.

    A person who used an earlier code and never logged in is removed first: two people must not become one user.
    """
    _refuse_expiring(caller)
    store = services.store
    is_waiting = store.links.is_waiting(name)
    if store.accounts.tokens(name) or (name in store.accounts.users() and not is_waiting):
        raise UserExists(name)
    if is_waiting:
        remove_user(store, services.files, name)
    return _create(services, caller, platform, name, base_url=base_url)


def own_links(services: Services, user_id: str) -> list[Link]:
    """The newest codes that a user has made. One whose token was revoked cannot be used any more, so it is void."""
    return [_as_usable(services, link) for link in services.store.links.made_by(user_id)]


def unlink(services: Services, caller: Caller, platform: str) -> None:
    """Unlink the caller's accounts on a platform, remove the home there, and void codes that would link one again."""
    user_id, store = caller.user_id, services.store
    for link in store.links.made_by(user_id):
        if link.platform == platform and not link.is_invitation:
            store.links.void(link)
    if people := store.accounts.identities(user_id, platform):
        accounts = [LinkedAccount(platform, person) for person in people]
        tell_unlinked(services, user_id, accounts, token_id=caller.token.id)
    store.accounts.unlink(user_id, platform)


def unlink_accounts(services: Services, caller: Caller, accounts: Sequence[LinkedAccount]) -> None:
    """Unlink these accounts of the caller. Safe to repeat."""
    if accounts:
        tell_unlinked(services, caller.user_id, accounts, token_id=caller.token.id)
    for linked in accounts:
        services.store.accounts.unlink_account(caller.user_id, linked)


def _as_usable(services: Services, link: Link) -> Link:
    has_token = services.store.accounts.token(link.by, link.token_hash)
    return link if link.state is not LinkState.OPEN or has_token else replace(link, state=LinkState.VOID)


def _refuse_expiring(caller: Caller) -> None:
    """Refuse a token that expires: an account that it links must not outlive it."""
    if caller.token.expires_at is not None:
        raise InvalidRequest(
            "This token expires, and an account that it links would not. No code was created. Use a token without an "
            "expiry, or ask the operator to link the account."
        )


def _create(
    services: Services,
    caller: Caller,
    platform: str,
    user_id: str,
    *,
    base_url: str | None = None,
    moves_home: bool = False,
) -> NewLink:
    _refuse_expiring(caller)
    refuse_unusable_platform(services.platforms, platform)
    code = new_code()
    link = Link(
        id=services.new_id(),
        by=caller.user_id,
        user_id=user_id,
        platform=platform,
        code_hash=hash_of_code(platform, code),
        valid_until=services.clock.now() + LIFETIME,
        token_hash=caller.token_hash,
        is_invitation=base_url is not None,
        moves_home=moves_home,
        base_url=base_url or "",
    )
    if not services.store.links.create(link):
        raise Unauthenticated
    return NewLink(link, shown(code), services.platforms.get(platform).pairing(shown(code)))
