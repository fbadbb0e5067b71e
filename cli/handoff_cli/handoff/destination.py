"""Can a session go there? Asked before anything is written, in the order in which a person would mend it."""

from collections.abc import Callable

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.errors import Refused


def check_destination(service: Service, platform: str, *, target: str | None) -> None:
    """Raises Refused with the first thing that is missing, and what to do about it."""
    platforms = service.platforms()
    named = next((known for known in platforms if known["name"] == platform), None)
    usable = ", ".join(str(known["name"]) for known in platforms if known["supported"])
    for check in _CHECKS:
        if problem := check(platform, named, usable, target):
            code, detail = problem
            raise Refused({"code": code, "detail": detail}, status=422)


Problem = tuple[str, str] | None


def _unknown(platform: str, named: Json | None, usable: str, _target: str | None) -> Problem:
    return None if named else ("unknown_platform", f"There is no platform “{platform}”. Use one of: {usable}.")


def _not_supported(platform: str, named: Json | None, usable: str, _target: str | None) -> Problem:
    supported = named and named["supported"]
    return None if supported else ("platform_not_supported", f"{platform} is not supported yet. Use one of: {usable}.")


def _not_configured(platform: str, named: Json | None, _usable: str, _target: str | None) -> Problem:
    if named and named["configured"]:
        return None
    detail = f"{platform} is not configured: the service has no bot for it. `handoff doctor` says more."
    return "platform_not_configured", detail


def _homeless(platform: str, named: Json | None, _usable: str, target: str | None) -> Problem:
    if target or (named and named["home"]):
        return None
    detail = (
        f"No home on {platform} yet. Say /sethome in the chat that you want there, "
        f"or run `handoff config home {platform} CHAT`."
    )
    return "no_home", detail


_CHECKS: tuple[Callable[[str, Json | None, str, str | None], Problem], ...] = (
    _unknown,
    _not_supported,
    _not_configured,
    _homeless,
)
