"""Look for what would keep a person's handoffs from working, and say what to do about it. Changes nothing."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from shared.domain.handoffs import Handoff, State
from shared.domain.routes import Place
from shared.ports.platforms import Finding
from shared.services import Services

log = logging.getLogger(__name__)
PLATFORM_SECONDS = 5.0
# All platforms at once, the loading of their SDKs included; the function itself has 15 s.
PATIENCE_SECONDS = 10.0
NEWEST = 100
OVERDUE = 120_000  # the sweep comes by each minute: what is this much too late, nobody looks after


def run_doctor(
    services: Services, user_id: str, *, base_url: str, patience: float = PATIENCE_SECONDS
) -> Sequence[Finding]:
    """Everything that can be seen for this user, platform by platform. Raises for no fault of a platform."""
    homes = services.store.accounts.homes(user_id)
    supported = [name for name, is_supported in services.platforms.known().items() if is_supported]
    configured = [name for name in supported if services.platforms.is_configured(name)]
    looks = _begin(services, configured, homes, base_url)
    findings = [Finding("agent", ok=True, detail=services.agent_summary), *_handoffs(services, user_id)]
    if not configured:
        detail = "No platform is configured: there is nowhere to hand a session to."
        findings.append(Finding("platforms", ok=False, detail=detail, fix="Whoever runs the service sets a bot up."))
    wait(looks.values(), timeout=patience)
    for name in supported:
        if name in looks:
            findings += [*_seen(name, looks[name]), *_person(services, user_id, name, homes)]
        else:
            findings += _not_configured(services, name, homes)
    return findings


def _begin(
    services: Services, platforms: Sequence[str], homes: Mapping[str, Place], base_url: str
) -> Mapping[str, "Future[Sequence[Finding]]"]:
    """One thread each, so that a platform that does not answer takes no time from the others."""

    def look(name: str) -> Sequence[Finding]:
        return services.platforms.get(name).diagnose(
            homes.get(name),
            webhook_url=f"{base_url}/webhooks/{name}",
            now=services.clock.now(),
            seconds=PLATFORM_SECONDS,
        )

    threads = ThreadPoolExecutor(max_workers=max(len(platforms), 1), thread_name_prefix="diagnosis")
    looks = {name: threads.submit(look, name) for name in platforms}
    threads.shutdown(wait=False)  # whoever hangs is not waited for
    return looks


def _seen(name: str, look: "Future[Sequence[Finding]]") -> Sequence[Finding]:
    if not look.done():
        detail, fix = f"{name.capitalize()} did not answer in time.", "Look again in a minute."
        return [Finding("bot", ok=None, detail=detail, fix=fix, platform=name)]
    if (error := look.exception()) is not None:
        log.error("%s could not be looked at: %s", name, type(error).__name__, exc_info=error)
        detail, fix = (
            "It could not be looked at: something unforeseen.",
            "Whoever runs the service finds it in the log.",
        )
        return [Finding("bot", ok=None, detail=detail, fix=fix, platform=name)]
    return look.result()


def _handoffs(services: Services, user_id: str) -> Sequence[Finding]:
    """Handoffs of this user that nobody works on, oldest first."""
    now = services.clock.now()
    newest = services.store.handoffs.list(user_id, session_id=None, state=None, limit=NEWEST)
    findings = []
    for handoff in reversed(newest):
        if (detail := trouble_of(handoff, now=now)) is not None:
            fix = f"Call it off with `handoff cancel {handoff.id}`; whoever runs the service looks into the logs."
            findings.append(Finding("handoffs", ok=False, detail=detail, fix=fix, platform=handoff.platform))
    return findings or [Finding("handoffs", ok=True, detail="None of yours is stuck.")]


def trouble_of(handoff: Handoff, *, now: int) -> str | None:
    """Why this handoff looks forgotten, if it does. One that is confirmed is delivered, however long that takes."""
    if handoff.is_open and not handoff.confirmed and now - handoff.deadline > OVERDUE:
        return f"Handoff {handoff.id} is past its deadline, and nobody has ended it."
    if handoff.state == State.PENDING and now - max(handoff.created_at, handoff.not_before) > OVERDUE:
        minutes = (now - handoff.created_at) // 60_000
        return f"Handoff {handoff.id} has waited for {minutes} minutes to be picked up."
    return None


def _person(services: Services, user_id: str, platform: str, homes: Mapping[str, Place]) -> Sequence[Finding]:
    """Whether handoffs of this user have somewhere to go, and whether the user is listened to there."""
    findings = []
    known = services.store.accounts.identities(user_id, platform)
    if platform not in homes:
        detail = "You have no home here, so a handoff needs a target."
        fix = f"Set one with `handoff config home {platform} CHAT`, or send /sethome in the chat."
        # Somebody who is at home elsewhere may not want this platform at all.
        findings.append(Finding("home", ok=None if homes else False, detail=detail, fix=fix, platform=platform))
    if known:
        detail = f"You are heard as {', '.join(known)}."
        findings.append(Finding("identity", ok=True, detail=detail, platform=platform))
    elif platform in homes:
        detail = "Nobody is known here as you: what you say in the thread is not heard."
        fix = f"Whoever runs the service adds you: python -m local.operate.admin … identify {user_id} --{platform} YOUR_ID"
        findings.append(Finding("identity", ok=False, detail=detail, fix=fix, platform=platform))
    return findings


def _not_configured(services: Services, platform: str, homes: Mapping[str, Place]) -> Sequence[Finding]:
    if lacking := services.platforms.lacks(platform):
        detail = f"Not set: {', '.join(lacking)}. Without it {platform} is off."
    elif platform in homes:
        detail = f"You have a home here, and the service has no bot for {platform}."
    else:
        return []
    fix = f"Whoever runs the service sets the secrets; docs/platforms/{platform}.md says how."
    return [Finding("secrets", ok=False, detail=detail, fix=fix, platform=platform)]
