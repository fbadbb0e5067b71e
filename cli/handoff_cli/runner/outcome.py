"""How a turn ended, in words for the thread."""

from dataclasses import dataclass

from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.questions.plan import KEEP_PLANNING, Plan

MAY_HAVE_FINISHED = "One step may have finished."
_STOPS = {
    "max_tokens": "It stopped here: the model's limit for one answer is reached.",
    "max_turn_requests": "It stopped here: the limit of steps in one turn is reached.",
    "refusal": "The model refused to go on.",
    "cancelled": "The agent stopped.",
}
_SILENT = {
    "end_turn": "Done. The agent said nothing more.",
    "cancelled": "The agent stopped; the step was not allowed.",
}


@dataclass(frozen=True)
class Outcome:
    """`done` or `failed`, and the reply."""

    outcome: str
    reply: str


def answered(record: Record, stop_reason: str, *, refused: Plan | None = None) -> Outcome:
    """The agent ended its answer. Some end it when their plan is `refused`; some have said the plan, which was shown."""
    if refused is not None:
        said = "" if record.reply == refused.text.strip() else record.reply
        return Outcome("done", "\n\n".join(filter(None, (said, KEEP_PLANNING))))
    if not record.reply:
        return Outcome("done", _SILENT.get(stop_reason) or _STOPS.get(stop_reason, _SILENT["end_turn"]))
    note = _STOPS.get(stop_reason)
    return Outcome("done", f"{record.reply}\n\n{note}" if note else record.reply)


def failed(record: Record, sentence: str) -> Outcome:
    """The agent could not answer; what it said until then is kept."""
    return Outcome("failed", "\n\n".join(filter(None, (record.reply, _with_steps(record, sentence)))))


def stopped(record: Record, name: str) -> Outcome:
    """The runner was stopped in the middle of the turn."""
    sentence = f"The runner on {name} was stopped before the agent was done."
    return failed(record, f"{_with_steps(record, sentence)} Say “go on” when it runs again.")


def confirmed(record: Record) -> Outcome:
    """The first turn of a handoff must not take longer: confirm it."""
    sentence = "Your session is here now. The agent was still at work and was stopped to answer you."
    said = f"{record.reply}\n\n" if record.reply else ""
    return Outcome("done", f"{said}{_with_steps(record, sentence)} Say “go on” to let it continue.")


def _with_steps(record: Record, sentence: str) -> str:
    return f"{sentence} {MAY_HAVE_FINISHED}" if record.is_amid_step and MAY_HAVE_FINISHED not in sentence else sentence
