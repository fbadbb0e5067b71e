"""Offers of turns as items beside their session, and back."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from shared.domain.offers import Offer, Result
from shared.domain.progress import Progress, Summary
from shared.ports.conditions import absent, present
from shared.ports.tables import Delete, Item, Put, Table, Tables, Update, Write
from shared.store.due import due_shard
from shared.store.keys import OFFER, offer_key, pointer_key
from shared.store.session_items import runs_on_of, runs_on_value
from shared.store.values import is_number, map_at, number_at, place_at, text_at, texts_at, time_at
from shared.store.versions import is_newer, stamped

log = logging.getLogger(__name__)

FIRST_LOOK = 30_000
"""Milliseconds until the sweep looks at a new offer: most turns are settled by then, and cost it nothing."""
KEEP_SECONDS = 3 * 24 * 3600
"""How long a settled turn of a machine is kept after its offer: longer than its runner repeats the result."""
POINTER_SECONDS = 30 * 24 * 3600


def new_offer(offer: Offer) -> list[Write]:
    """The writes that add an offer; a runner also finds it by a pointer among what it polls."""
    return [_offer_put(offer), *_pointer_put(offer)]


def _pointer_put(offer: Offer) -> list[Write]:
    if offer.runs_on is None:
        return []
    item = {
        **pointer_key(offer.user_id, offer.runs_on.runner, offer.id),
        "session_id": offer.session_id,
        "agent": offer.runs_on.agent,
        "native_id": offer.runs_on.native_id,
        "kickoff": offer.handoff_id is not None or None,
        "expires_at": offer.offered_at // 1000 + POINTER_SECONDS,
    }
    return [Put(Table.SESSIONS, stamped(item))]


def remove_pointer(tables: Tables, offer: Offer) -> None:
    """Let the runner poll an offer no longer. Safe to repeat."""
    if offer.runs_on is not None:
        tables.delete(Delete(Table.SESSIONS, pointer_key(offer.user_id, offer.runs_on.runner, offer.id)))


def settled_machine_turn(offer: Offer) -> Update:
    """The write that keeps a settled offer for a while, and lets the sweep pass over it."""
    gone = dict.fromkeys(("due_shard", "due_at", "progress", "rows", "waiting"))
    return Update(
        Table.SESSIONS,
        offer_key(offer.session_id, offer.id),
        when=[present("pk")],
        set={"settled": True, "expires_at": offer.offered_at // 1000 + KEEP_SECONDS, **gone},
    )


def result_value(result: Result) -> Mapping[str, Any]:
    summary = {"summary": summary_value(result.summary)} if result.summary else {}
    return {"fence": result.fence, "digest": result.digest, **summary}


def summary_value(summary: Summary) -> Mapping[str, int]:
    spent = {"tokens": summary.tokens, "cost": summary.cost}
    worked = {"steps": summary.steps, "files": summary.files, "seconds": summary.seconds}
    return {**worked, **{name: number for name, number in spent.items() if number}}


def progress_value(progress: Progress) -> Mapping[str, Any]:
    return {
        "fence": progress.fence,
        "seq": progress.seq,
        "at": progress.at,
        "said": progress.said,
        "tool": progress.tool,
        "given": progress.given or None,
        "waiting": progress.waiting or None,
        "summary": summary_value(progress.summary),
    }


def _offer_put(offer: Offer) -> Put:
    item = {
        **offer_key(offer.session_id, offer.id),
        "user": offer.user_id,
        "route": offer.place.route,
        "epoch": offer.epoch,
        "offered_at": offer.offered_at,
        "rows": list(offer.rows) or None,
        "row_count": len(offer.rows) if offer.runs_on else None,
        "handoff": offer.handoff_id,
        "runs_on": runs_on_value(offer.runs_on),
        "due_shard": due_shard(offer.session_id),
        "due_at": offer.offered_at + FIRST_LOOK,
    }
    return Put(Table.SESSIONS, stamped(item), [absent("pk")])


def offers_of(items: Iterable[Item]) -> list[Offer]:
    """The offers among items, without those that this version must not act on or cannot read: they hide no others."""
    found = (offer_of(item) for item in items if item["sk"].startswith(OFFER))
    return [offer for offer in found if offer and not offer.is_settled]


def offer_of(item: Item) -> Offer | None:
    """An item as an offer; None for one of a newer version, or one that does not say what to answer, and where."""
    if is_newer(item):
        return None
    place, rows, handoff_id = place_at(item, "route"), texts_at(item, "rows"), text_at(item, "handoff")
    if place is None or list(rows) != item.get("rows", []) or handoff_id != item.get("handoff"):
        log.error("%s %s cannot be read", item["pk"], item["sk"])
        return None
    return Offer(
        id=item["sk"].removeprefix(OFFER),
        session_id=item["pk"].removeprefix("SESSION#"),
        user_id=text_at(item, "user", ""),
        place=place,
        epoch=number_at(item, "epoch"),
        offered_at=time_at(item, "offered_at"),
        rows=rows,
        handoff_id=handoff_id,
        nudges=number_at(item, "nudges"),
        nudged_fence=number_at(item, "nudged_fence"),
        runs_on=runs_on_of(item),
        acknowledged=texts_at(item, "acknowledged"),
        waiting=texts_at(item, "waiting"),
        told_away="told_away" in item,
        progress=_progress(map_at(item, "progress")),
        result=_result(map_at(item, "result")),
        is_settled="settled" in item,
    )


def _result(value: Mapping[str, Any]) -> Result | None:
    digest = text_at(value, "digest")
    if digest is None:
        return None
    summary = _summary(map_at(value, "summary")) if "summary" in value else None
    return Result(number_at(value, "fence"), digest, summary)


def _progress(value: Mapping[str, Any]) -> Progress | None:
    if not is_number(value.get("seq")):
        return None
    return Progress(
        fence=number_at(value, "fence"),
        seq=number_at(value, "seq"),
        at=time_at(value, "at"),
        said=text_at(value, "said", ""),
        tool=text_at(value, "tool", ""),
        given=number_at(value, "given"),
        waiting=number_at(value, "waiting"),
        summary=_summary(map_at(value, "summary")),
    )


def _summary(value: Mapping[str, Any]) -> Summary:
    return Summary(*(number_at(value, name) for name in ("steps", "files", "seconds", "tokens", "cost")))
