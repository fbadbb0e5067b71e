"""Check that a session can be handed over to a platform, before anything is written."""

from handoff_cli.api.client import Service
from handoff_cli.errors import Refused


def check_destination(service: Service, platform: str, *, target: str | None) -> None:
    """Raise Refused with the first problem and how to solve it."""
    platforms = {str(known["name"]): known for known in service.platforms()}
    usable = ", ".join(name for name, known in platforms.items() if known["supported"])
    found = platforms.get(platform)
    if found is None:
        raise _refused("unknown_platform", f"There is no platform “{platform}”. Use one of: {usable}.")
    if not found["supported"]:
        raise _refused("platform_not_supported", f"{platform} is not supported yet. Use one of: {usable}.")
    if not found["configured"]:
        raise _refused(
            "platform_not_configured",
            f"{platform} is not configured: the service has no bot for it. Run `handoff doctor` for details.",
        )
    if not target and not found["home"]:
        raise _refused(
            "no_home",
            f"You have no home chat on {platform} yet. Send /sethome in a chat there, "
            f"or run `handoff link {platform}`.",
        )


def _refused(code: str, detail: str) -> Refused:
    return Refused({"code": code, "detail": detail}, status=422)
