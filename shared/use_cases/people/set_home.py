"""Choose the chat in which a user's handoffs arrive."""

from shared.domain.routes import Place
from shared.errors import ChatRefused, PlatformError, PlatformUnavailable, Rejected
from shared.services import Services
from shared.use_cases.access import open_to, refuse_early, refuse_unusable_platform
from shared.use_cases.people.authenticate import Caller
from shared.use_cases.people.tell_chats import tell_moved_home


def set_home(services: Services, caller: Caller, chat: Place) -> Place:
    """Make `chat` the caller's home on its platform, and return it as it is stored. The chat that was it is told.

    Raises PlaceBusy for a private chat of other people, ChatRefused and PlatformUnavailable.
    """
    user_id = caller.user_id
    refuse_unusable_platform(services.platforms, chat.platform)
    refuse_early(services, user_id, chat)
    try:
        home = open_to(services, user_id, chat).place
    except Rejected as error:
        raise ChatRefused(str(error)) from error
    except PlatformError as error:
        raise PlatformUnavailable(chat.platform) from error
    before = services.store.accounts.home(user_id, home.platform)
    if before is not None and before != home:
        tell_moved_home(services, before, token_id=caller.token.id)
    services.store.accounts.set_home(user_id, home)
    return home
