"""Choose the chat in which a user's handoffs arrive."""

from shared.domain.routes import Place
from shared.services import Services
from shared.use_cases.access import refuse_foreign_chat, refuse_unusable_platform


def set_home(services: Services, user_id: str, chat: Place) -> None:
    """Make `chat` the user's home on its platform. Raises PlaceBusy for another user's private chat. Idempotent."""
    refuse_unusable_platform(services.platforms, chat.platform)
    refuse_foreign_chat(services, user_id, chat)
    services.store.accounts.set_home(user_id, chat)
