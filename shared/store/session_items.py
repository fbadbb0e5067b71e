"""Sessions as META items of their table, and back."""

from collections.abc import Mapping
from typing import Any

from shared.domain.routes import place_of
from shared.domain.sessions import Executor, Interruption, ResumePending, RunsOn, Session, Turn
from shared.ports.tables import Item
from shared.store.keys import meta_key
from shared.store.versions import map_at, stamped

OFFERED = "offered"
CLAIMED = "claimed"


def session_of(item: Item) -> Session:
    """A META item as a session."""
    return Session(
        id=item["session_id"],
        user_id=item["user_id"],
        owner=place_of(item["owner"]),
        epoch=item["epoch"],
        version=item["version"],
        message_count=item["message_count"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        title=item.get("title"),
        source=item.get("source"),
        cwd=item.get("cwd"),
        model=item.get("model"),
        link=item.get("link"),
        active_handoff=item.get("active_handoff"),
        turn=_turn(map_at(item, "turn")),
        resume_pending=_resume_pending(item),
        suspended=item.get("suspended", False),
        uploaded_bytes=item.get("uploaded_bytes", 0),
        runs_on=runs_on_of(item),
        cloud_chosen=item.get("answers") == Executor.CLOUD,
        cloud_kickoff=bool(item.get("cloud_kickoff")),
        native_seen=item.get("native_seen", 0),
        native_dirty=bool(item.get("native_dirty")),
        shared=bool(item.get("shared")),
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
    return ResumePending(known, pending.get("at", item["updated_at"]))


def _turn(value: Mapping[str, Any]) -> Turn | None:
    if "id" not in value:
        return None
    return Turn(
        id=value["id"],
        by=Executor.MACHINE if value.get("by") == Executor.MACHINE else Executor.CLOUD,
        fence=value.get("fence", 0),
        is_claimed=value.get("state") == CLAIMED,
        lease_until=value.get("lease_until", 0),
        begun=value.get("begun", 0),
        tries=value.get("tries", 0),
        claim_id=value.get("claim_id"),
        words=value.get("words", 0),
        begun_fence=value.get("begun_fence", 0),
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
    }
    return stamped(values)
