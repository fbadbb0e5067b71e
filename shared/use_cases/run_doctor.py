"""Find what would make a user's handoffs fail, and how to fix it. Changes nothing."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from shared.domain.handoffs import Handoff, State
from shared.domain.orders import TRANSCRIBE
from shared.domain.routes import Place
from shared.errors import PlaceBusy, PlatformError, WriteFirst
from shared.ports.platforms import Finding
from shared.services import Services
from shared.store.files import bytes_key
from shared.use_cases.access import open_to, refuse_silent
from shared.use_cases.files.try_transcriber import why_not_working

log = logging.getLogger(__name__)
PLATFORM_SECONDS = 5.0
# For all platforms together, including the import of their SDKs; the function itself has 15 s.
PATIENCE_SECONDS = 10.0
NEWEST_HANDOFFS = 100
OVERDUE = 120_000  # the sweep runs each minute: it has missed a handoff that is this late


def run_doctor(
    services: Services, user_id: str, *, base_url: str, patience: float = PATIENCE_SECONDS
) -> Sequence[Finding]:
    """All findings for this user, platform by platform. An error of a platform becomes a finding."""
    homes = services.store.accounts.homes(user_id)
    supported = [name for name, is_supported in services.platforms.known().items() if is_supported]
    configured = [name for name in supported if services.platforms.is_configured(name)]
    diagnoses = _begin(services, user_id, configured, homes, base_url)
    trial = _begin_trial(services, patience - 1)
    under_way: list[Future[Any]] = [*diagnoses.values(), *([trial] if trial else [])]
    wait(under_way, timeout=patience)
    findings = [
        Finding("agent", ok=True, detail=services.agent_summary),
        _voice(services, trial),
        *_ears(services, user_id),
        _files(services, user_id),
        *_handoffs(services, user_id),
    ]
    if not configured:
        detail = "No platform is configured, so no session can be handed off."
        findings.append(Finding("platforms", ok=False, detail=detail, fix="handoff setup telegram"))
    for name in supported:
        if name in diagnoses:
            findings += [*_findings_of(name, diagnoses[name]), *_person(services, user_id, name, homes)]
        else:
            findings += _not_configured(services, name, homes)
    return findings


def _begin_trial(services: Services, seconds: float) -> "Future[str | None] | None":
    """Try the transcriber in a thread, if this process may call it."""
    if services.transcriber is None or not services.tries_voice:
        return None
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trial")
    trial = thread.submit(why_not_working, services.transcriber, seconds=seconds)
    thread.shutdown(wait=False)
    return trial


def _voice(services: Services, trial: "Future[str | None] | None") -> Finding:
    """Whether voice messages become words here."""
    if trial is None:
        return Finding("voice", ok=True, detail=services.voice_summary)
    problem = trial.result() if trial.done() else "it did not answer in time"
    if problem is None:
        return Finding("voice", ok=True, detail=services.voice_summary)
    detail = f"{services.voice_summary} It was tried with a second of silence: {problem}."
    return Finding("voice", ok=False, detail=detail, fix="mend it, or choose another one (docs/voice.md)")


def _ears(services: Services, user_id: str) -> Iterator[Finding]:
    """The user's machines that transcribe by themselves."""
    for runner in services.store.runners.list(user_id):
        if TRANSCRIBE in runner.orders and not runner.revoked:
            detail = f"{runner.name} transcribes voice messages for the sessions of your own agent there."
            is_on = runner.is_online(services.clock.now())
            away = "" if is_on else " It is away, so they are not heard there now."
            yield Finding("voice", ok=is_on or None, detail=f"{detail}{away}", fix="handoff run")


def _begin(
    services: Services, user_id: str, platforms: Sequence[str], homes: Mapping[str, Place], base_url: str
) -> Mapping[str, "Future[Sequence[Finding]]"]:
    """Diagnose each platform in a thread, so that one that hangs does not delay the others."""

    def diagnose(name: str) -> Sequence[Finding]:
        home, foreign = homes.get(name), []
        try:
            home = open_to(services, user_id, home).place if home else None
        except PlaceBusy as refusal:
            fix = f"Choose your own private chat with the bot: handoff link {name}"
            home, foreign = None, [Finding("home", ok=False, detail=refusal.message, fix=fix, platform=name)]
        except PlatformError:
            pass  # the diagnosis finds out why
        found = services.platforms.get(name).diagnose(
            home,
            webhook_url=f"{base_url}/webhooks/{name}",
            now=services.clock.now(),
            seconds=PLATFORM_SECONDS,
        )
        return [*found, *foreign]

    threads = ThreadPoolExecutor(max_workers=max(len(platforms), 1), thread_name_prefix="diagnosis")
    diagnoses = {name: threads.submit(diagnose, name) for name in platforms}
    threads.shutdown(wait=False)  # do not wait for a platform that hangs
    return diagnoses


def _findings_of(name: str, diagnosis: "Future[Sequence[Finding]]") -> Sequence[Finding]:
    if not diagnosis.done():
        detail, fix = f"{name.capitalize()} did not answer in time.", "Try again in a minute."
        return [Finding("bot", ok=None, detail=detail, fix=fix, platform=name)]
    if (error := diagnosis.exception()) is not None:
        log.error("%s could not be diagnosed: %s", name, type(error).__name__, exc_info=error)
        detail, fix = (
            "The check failed unexpectedly.",
            "Ask the operator to look into the log.",
        )
        return [Finding("bot", ok=None, detail=detail, fix=fix, platform=name)]
    return diagnosis.result()


def _files(services: Services, user_id: str) -> Finding:
    """Whether the service can reach the storage of files, with its own rights. It asks for a file that does not exist."""
    try:
        services.files.size(bytes_key(user_id, "doctor", "0" * 64))
    except Exception as error:  # of whatever stores the bytes
        log.exception("files could not be looked for: %s", type(error).__name__)
        detail = "The storage of files does not answer or refuses the service: no file is kept, read or sent."
        return Finding("files", ok=False, detail=detail, fix="The operator runs: handoff doctor --stack NAME")
    settings = services.settings
    detail = f"Kept for {settings.file_days} days, up to {settings.file_bytes // 1_000_000} MB each."
    return Finding("files", ok=True, detail=detail)


def _handoffs(services: Services, user_id: str) -> Sequence[Finding]:
    """The stuck handoffs of this user, oldest first."""
    now = services.clock.now()
    newest = services.store.handoffs.list(user_id, session_id=None, state=None, limit=NEWEST_HANDOFFS)
    findings = []
    for handoff in reversed(newest):
        if (detail := problem_of(handoff, now=now)) is not None:
            fix = f"Cancel it with `handoff cancel {handoff.id}`, and ask the operator to look into the log."
            findings.append(Finding("handoffs", ok=False, detail=detail, fix=fix, platform=handoff.platform))
    return findings or [Finding("handoffs", ok=True, detail="None of your handoffs is stuck.")]


def problem_of(handoff: Handoff, *, now: int) -> str | None:
    """Why this handoff is stuck, or None. A confirmed one is not: its delivery may take long."""
    if handoff.is_open and not handoff.confirmed and now - handoff.deadline > OVERDUE:
        return f"Handoff {handoff.id} is past its deadline and still open."
    if handoff.state == State.PENDING and now - max(handoff.created_at, handoff.not_before) > OVERDUE:
        minutes = (now - handoff.created_at) // 60_000
        return f"Handoff {handoff.id} has been waiting for {minutes} minutes."
    return None


def _person(services: Services, user_id: str, platform: str, homes: Mapping[str, Place]) -> Sequence[Finding]:
    """Whether the user has a home on the platform, and an account there whose replies are read."""
    findings = []
    known = services.store.accounts.identities(user_id, platform)
    if platform not in homes:
        detail = "You have no home here, so a handoff needs a target."
        fix = f"handoff link {platform}"
        # A user with a home elsewhere may not want to use this platform.
        findings.append(Finding("home", ok=None if homes else False, detail=detail, fix=fix, platform=platform))
    if platform in homes and (silent := _silence(services, homes[platform])):
        findings.append(silent)
    if known:
        detail = f"Your replies are read as {', '.join(known)}."
        findings.append(Finding("identity", ok=True, detail=detail, platform=platform))
    elif platform in homes:
        detail = "No account on this platform is linked to you, so your replies would be ignored."
        fix = f"handoff link {platform}"
        findings.append(Finding("identity", ok=False, detail=detail, fix=fix, platform=platform))
    return findings


def _silence(services: Services, home: Place) -> Finding | None:
    """A finding if the bot may not write to the user now, because the user has not written to it for too long."""
    try:
        refuse_silent(services, home)
    except WriteFirst as refusal:
        fix = f"Send /status to the bot on {home.platform}."
        return Finding("window", ok=False, detail=refusal.message, fix=fix, platform=home.platform)
    return None


def _not_configured(services: Services, platform: str, homes: Mapping[str, Place]) -> Sequence[Finding]:
    if lacking := services.platforms.lacks(platform):
        detail = f"Not set: {', '.join(lacking)}. Without it {platform} is off."
    elif platform in homes:
        detail = f"You have a home here, but the service has no bot for {platform}."
    else:
        return []
    fix = f"handoff setup {platform}"
    return [Finding("secrets", ok=False, detail=detail, fix=fix, platform=platform)]
