"""A known person pressed a button of one of our messages."""

from shared.domain.questions import pressed as meaning_of
from shared.ports.inbound import Answer, Pressed
from shared.ports.platforms import Platform
from shared.services import Services
from shared.use_cases.questions import NO_LONGER_ASKED, decide


def press_button(services: Services, platform: Platform, pressed: Pressed, user_id: str) -> Answer | None:
    """Act on the press and tell the person, perhaps by the returned response to the webhook.

    Repeating it is safe; raises nothing that the platform causes.
    """
    press = meaning_of(pressed.button)
    return platform.acknowledge(pressed, decide(services, user_id, pressed.place, press) if press else NO_LONGER_ASKED)
