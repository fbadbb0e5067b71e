"""Remove a user with everything that is theirs."""

from shared.errors import UnknownUser
from shared.ports.files import Files
from shared.store.bundle import Store


def remove_user(store: Store, files: Files, user_id: str) -> None:
    """Tokens go first, then identities: from there on neither the API nor a chat accepts anything from the user.

    An interrupted removal can be repeated and then finishes. Raises UnknownUser.
    """
    if not _exists(store, user_id):
        raise UnknownUser(user_id)
    accounts = store.accounts
    accounts.forget_tokens(user_id)
    for platform, people in accounts.all_identities(user_id).items():
        for person in people:
            accounts.remove_identity(user_id, platform, person)
    files.delete(f"{user_id}/")
    store.sessions.delete_all_of(user_id)
    files.delete(f"{user_id}/")  # what was uploaded in the meantime
    accounts.forget(user_id)


def _exists(store: Store, user_id: str) -> bool:
    """Also by what a request that was accepted before the user was removed has written after it."""
    return (
        user_id in store.accounts.users()
        or bool(store.accounts.homes(user_id))
        or bool(store.sessions.list(user_id, limit=1).sessions)
    )
