"""Sessions as META items of their table, and back."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.domain.dials import DIALS, attribute
from shared.domain.orders import Moment
from shared.domain.sessions import Executor, Interruption, ResumePending, RunsOn, Session, Turn
from shared.ports.tables import Item
from shared.store.budget_items import budget_of, budget_value, usage_of, usage_value
from shared.store.keys import meta_key
from shared.store.values import is_number, is_set, map_at, number_at, place_at, text_at, time_at
from shared.store.versions import stamped

log = logging.getLogger(__name__)

OFFERED = "offered"
CLAIMED = "claimed"


def readable_session(item: Item) -> Session | None:
    """The session of a META item; None, with a line in the log, if what every session has is missing or unreadable."""
    try:
        return session_of(item)
    except ValueError:
        log.error("%s cannot be read", item["pk"])  # noqa: TRY400  # the trace tells nothing more
        return None


def session_of(item: Item) -> Session:
    """A META item as a session. Raises ValueError if what every session has is missing or unreadable.

    All else that is unreadable counts as missing; `unreadable` names what the next offer of a turn has to replace.
    """
    owner = place_at(item, "owner")
    id_, user_id = text_at(item, "session_id"), text_at(item, "user_id")
    epoch, version, count = (number_at(item, name, -1) for name in ("epoch", "version", "message_count"))
    if owner is None or not id_ or not user_id or min(epoch, version, count) < 0:
        raise ValueError("not a session")
    turn, active_handoff = _turn(map_at(item, "turn")), text_at(item, "active_handoff")
    read = {"turn": turn, "active_handoff": active_handoff, "questions": is_number(item.get("questions")) or None}
    return Session(
        id=id_,
        user_id=user_id,
        owner=owner,
        epoch=epoch,
        version=version,
        message_count=count,
        created_at=time_at(item, "created_at"),
        updated_at=time_at(item, "updated_at"),
        title=text_at(item, "title"),
        source=text_at(item, "source"),
        cwd=text_at(item, "cwd"),
        model=text_at(item, "model"),
        link=text_at(item, "link"),
        active_handoff=active_handoff,
        turn=turn,
        resume_pending=_resume_pending(item),
        suspended="suspended" in item,
        uploaded_bytes=number_at(item, "uploaded_bytes"),
        runs_on=runs_on_of(item),
        cloud_chosen=item.get("answers") == Executor.CLOUD,
        cloud_kickoff=is_set(item, "cloud_kickoff"),
        native_seen=number_at(item, "native_seen"),
        native_dirty="native_dirty" in item,
        shared=is_set(item, "shared"),
        # Each question has raised the version too: from there on, no number is given twice.
        questions=number_at(item, "questions", version if "questions" in item else 0),
        service_model=text_at(item, "service_model"),
        chosen=_chosen(map_at(item, "chosen")),
        dials={dial: value for dial in DIALS if (value := text_at(item, attribute(dial)))},
        answered=number_at(item, "answered"),
        commands={name: said for name, said in map_at(item, "commands").items() if isinstance(said, str)},
        usage=usage_of(item),
        budget=budget_of(map_at(item, "budget")),
        unreadable=frozenset(name for name, value in read.items() if value is None and name in item),
    )


def runs_on_of(item: Item) -> RunsOn | None:
    """The user's own agent that an item names; None if it names none, or not completely."""
    value = map_at(item, "runs_on")
    named = [value.get(name) for name in ("runner", "agent", "native_id")]
    return RunsOn(*named) if all(isinstance(name, str) for name in named) else None  # type: ignore[arg-type]  # checked


def runs_on_value(runs_on: RunsOn | None) -> Mapping[str, str] | None:
    if runs_on is None:
        return None
    return {"runner": runs_on.runner, "agent": runs_on.agent, "native_id": runs_on.native_id}


def _resume_pending(item: Item) -> ResumePending | None:
    if "resume_pending" not in item:
        return None
    pending = map_at(item, "resume_pending")
    reason = pending.get("reason")
    known = Interruption(reason) if reason in tuple(Interruption) else Interruption.UNKNOWN
    return ResumePending(known, time_at(pending, "at", time_at(item, "updated_at")))


def _turn(value: Mapping[str, Any]) -> Turn | None:
    """The turn that is alive; None without its id or its fence: no executor could commit it."""
    id_, fence = text_at(value, "id"), value.get("fence")
    if not id_ or not is_number(fence):
        return None
    return Turn(
        id=id_,
        by=Executor.MACHINE if value.get("by") == Executor.MACHINE else Executor.CLOUD,
        fence=fence,
        is_claimed=value.get("state") == CLAIMED,
        lease_until=time_at(value, "lease_until"),
        begun=number_at(value, "begun"),
        tries=number_at(value, "tries"),
        claim_id=text_at(value, "claim_id"),
        words=number_at(value, "words"),
        begun_fence=number_at(value, "begun_fence"),
    )


def turn_value(turn: Turn) -> Mapping[str, Any]:
    """A turn as the map in META."""
    of_machines = {"words": turn.words, "begun_fence": turn.begun_fence} if turn.by is Executor.MACHINE else {}
    return {
        "id": turn.id,
        "by": turn.by.value,
        "fence": turn.fence,
        "state": CLAIMED if turn.is_claimed else OFFERED,
        "lease_until": turn.lease_until,
        "begun": turn.begun,
        "tries": turn.tries,
        "claim_id": turn.claim_id,
        **of_machines,
    }


def pending_value(pending: ResumePending) -> Mapping[str, Any]:
    return {"reason": pending.reason.value, "at": pending.at}


def chosen_value(chosen: Mapping[str, Moment]) -> Mapping[str, Any] | None:
    return {dial: asdict(moment) for dial, moment in chosen.items()} or None


def _chosen(value: Mapping[str, Any]) -> Mapping[str, Moment]:
    """When the dials were set, without what cannot be read: any choice is after that."""
    found = {dial: map_at(value, dial) for dial in value}
    return {
        dial: Moment(row, time_at(moment, "at"), number_at(moment, "epoch"))
        for dial, moment in found.items()
        if (row := text_at(moment, "row"))
    }


def item_of(session: Session) -> Mapping[str, Any]:
    """A session as its META item. `user_id` and `created_at` are also the keys of the `by_user` index."""
    pending = session.resume_pending
    values = {
        **meta_key(session.id),
        "session_id": session.id,
        "user_id": session.user_id,
        "owner": session.owner.route,
        "epoch": session.epoch,
        "version": session.version,
        "message_count": session.message_count,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "title": session.title,
        "source": session.source,
        "cwd": session.cwd,
        "model": session.model,
        "link": session.link,
        "active_handoff": session.active_handoff,
        "turn": turn_value(session.turn) if session.turn else None,
        "resume_pending": pending_value(pending) if pending else None,
        "suspended": session.suspended or None,
        "uploaded_bytes": session.uploaded_bytes or None,
        "runs_on": runs_on_value(session.runs_on),
        "answers": Executor.CLOUD.value if session.cloud_chosen else None,
        "cloud_kickoff": session.cloud_kickoff or None,
        "native_seen": session.native_seen or None,
        "native_dirty": session.native_dirty or None,
        "shared": session.shared or None,
        "questions": session.questions or None,
        "service_model": session.service_model,
        "chosen": chosen_value(session.chosen),
        **{attribute(dial): session.dials.get(dial) for dial in DIALS},
        "answered": session.answered or None,
        "commands": dict(session.commands) or None,
        "usage": usage_value(session.usage),
        "budget": budget_value(session.budget),
    }
    return stamped(values)
