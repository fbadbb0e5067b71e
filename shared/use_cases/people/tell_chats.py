"""Notices in the chats of a user about new accounts and moved homes, so that a thief cannot do it unseen."""

from collections.abc import Sequence

from shared.domain.links import LinkedAccount, NewAccount
from shared.domain.routes import Place
from shared.ports.queue import Notice
from shared.services import Services


def tell_linked(services: Services, news: NewAccount) -> None:
    """Tell the chats that the user had before. Safe to repeat: each is told once."""
    text = (
        f"A new account was linked to {news.user_id}, with the token `{news.token_id}`: `{news.account}` on {news.platform}. It "
        "can use your sessions and approve what your agent asks. If that was not you, run "
        f"`handoff tokens revoke {news.token_id} --unlink`."
    )
    _tell(services, news.chats, f"linked-{news.id}", text)
    services.store.links.told(news, now=services.clock.now())


def tell_unlinked(services: Services, user_id: str, accounts: Sequence[LinkedAccount], *, token_id: str) -> None:
    """Tell all chats of the user, those of these accounts included, before they are unlinked. A repeat tells again."""
    named = ", ".join(f"`{each.account}` on {each.platform}" for each in accounts)
    text = f"Unlinked from {user_id}, with the token `{token_id}`: {named}. What is said from there is ignored from now on."
    _tell(services, services.store.accounts.chats(user_id), f"unlinked-{services.new_id()}", text)


def tell_moved_home(services: Services, before: Place, *, token_id: str) -> None:
    """Tell the chat that has been the user's home, before another one is. A repeat tells again."""
    text = (
        f"Your handoffs will arrive in another chat on {before.platform}: your home was set with the token `{token_id}`. If that "
        f"was not you, run `handoff tokens revoke {token_id} --unlink`, and send `/sethome` here."
    )
    _tell(services, [before], f"home-{services.new_id()}", text)


def _tell(services: Services, chats: Sequence[Place], key: str, text: str) -> None:
    for number, chat in enumerate(chats):
        one = f"{key}-{number}"  # a platform may compare the keys of all its chats
        services.queue.send(Notice(chat, one, text), dedupe=one, line=f"notice {chat.route}")
