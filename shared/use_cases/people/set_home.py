"""Choose the chat in which a user's handoffs arrive."""

from shared.domain.routes import Place
from shared.errors import ChatRefused, PlatformError, PlatformUnavailable, Rejected
from shared.services import Services
from shared.use_cases.access import open_to, refuse_early, refuse_unusable_platform


def set_home(services: Services, user_id: str, chat: Place) -> Place:
    """Make `chat` the user's home on its platform, and return it as it is stored. Idempotent.

    Raises PlaceBusy for a private chat of other people, ChatRefused and PlatformUnavailable.
    """
    refuse_unusable_platform(services.platforms, chat.platform)
    refuse_early(services, user_id, chat)
    try:
        home = open_to(services, user_id, chat).place
    except Rejected as error:
        raise ChatRefused(str(error)) from error
    except PlatformError as error:
        raise PlatformUnavailable(chat.platform) from error
    services.store.accounts.set_home(user_id, home)
    return home
