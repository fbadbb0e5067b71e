"""Hand a result back: until the service has it, or says that it will never take it."""

from handoff_cli.runner.machine.journal import Entry
from handoff_cli.runner.results import as_failed, smaller
from handoff_cli.runner.wire.verdicts import Answer, Verdict
from handoff_cli.runner.work.parts import Parts

_NOT_TAKEN = "The agent answered, but its answer could not be handed over. It is in its session on the machine."


async def deliver(parts: Parts, entry: Entry) -> bool:
    """True if the service took the result. Otherwise it is dropped, or kept for the next start of the runner."""
    failures = 0
    while not parts.journal.is_too_old(entry):
        answer = await parts.service.result(entry.turn_id, entry.result or {})
        verdict = answer.verdict
        parts.report.log("result", turn=entry.turn_id, status=answer.status, code=answer.code or "-")
        if verdict is Verdict.GO_ON:
            parts.journal.drop(entry.turn_id)
            return True
        if verdict is Verdict.RETRY:
            failures += 1
            await parts.clock.sleep(parts.clock.pause(failures, answer.retry_after))
        elif verdict in {Verdict.REVOKED, Verdict.TOO_OLD}:
            parts.halt.not_accepted(answer)
            return False
        elif verdict in {Verdict.TOO_LARGE, Verdict.OWN_BUG}:
            if (less := _less(entry, verdict)) is None:
                break
            entry = parts.journal.spool(entry, less)
        else:
            forget(parts, entry, answer)
            return False
    parts.journal.drop(entry.turn_id)
    parts.report.say("A result could not be handed over; it is in the agent's own session.")
    return False


def forget(parts: Parts, entry: Entry, answer: Answer) -> None:
    """The turn is not this runner's any more; a session that does not exist any more is not run again."""
    parts.journal.drop(entry.turn_id)
    if answer.code == "unknown_session":
        parts.sessions.remove(entry.session_id)


def _less(entry: Entry, verdict: Verdict) -> dict[str, object] | None:
    """A result that the service may take; None if there is none."""
    body = entry.result or {}
    if verdict is Verdict.TOO_LARGE and (less := smaller(body)):
        return less
    failed = as_failed(body, _NOT_TAKEN)
    return failed if failed["digest"] != body.get("digest") else None
