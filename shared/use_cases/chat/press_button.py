"""A known person pressed a button of one of our messages."""

from shared.domain.questions import pressed as meaning_of
from shared.ports.inbound import Pressed
from shared.ports.platforms import Platform
from shared.services import Services
from shared.use_cases.questions import NO_LONGER_ASKED, decide


def press_button(services: Services, platform: Platform, pressed: Pressed, user_id: str) -> None:
    """Act on the press and tell the person. Repeating it is safe; raises nothing that the platform causes."""
    press = meaning_of(pressed.button)
    platform.acknowledge(pressed, decide(services, user_id, pressed.place, press) if press else NO_LONGER_ASKED)
