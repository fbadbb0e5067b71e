"""What must hold after each step of a walk, and at its end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from shared.domain.handoffs import OPEN
from shared.ports.tables import Check, Item, Put, Table, Update, Write
from shared.store.session_items import CLAIMED
from shared.store.transcripts import unpack
from tests.support.fake_queue import ManualClock
from tests.support.use_case_world import USER
from tests.walk.actors import Actor
from tests.walk.ports import WalkPlatform, WalkTables
from tests.walk.runner import RUNNER, Violation

STRIKES = 3
SESSION = "s-1"
STEERED = 25
"""Rows of a turn at most."""
UNDONE = frozenset({"failed", "cancelled"})
FINAL = UNDONE | {"completed"}
BY_EXECUTOR = frozenset({"agent_failed", "turn_failed"})
"""Why a handoff fails that an executor ends: it has failed, or it was interrupted too often, or none came."""


class Invariants:
    """Looks at each write with the items before and after it."""

    def __init__(self, tables: WalkTables, clock: ManualClock) -> None:
        self._tables, self._clock = tables, clock
        self._offers: dict[str, Item] = {}
        """Every offer that was made, also those that are settled."""
        self._fences: set[tuple[str, int]] = set()
        self._runs: set[tuple[str, int]] = set()
        self.committed: list[str] = []
        """Keys of the parts of all replies, in the order of their commits."""
        self._arrived: set[str] = set()

    def wrote(
        self, actor: Actor, writes: Sequence[Write], before: Sequence[Item | None], after: Sequence[Item | None]
    ) -> None:
        """Check one write or transaction."""
        for write, old, new in zip(writes, before, after, strict=True):
            if isinstance(write, Put) and str(write.item.get("sk", "")).startswith("RT#"):
                self._offers[write.item["sk"].removeprefix("RT#")] = new or {}
            if isinstance(write, Check):
                continue
            if write.table is Table.HANDOFFS:
                self._handoff(old or {}, new or {})
            elif write.key["pk"].startswith("INBOX#"):
                _expect(not old or old["status"] == "new", f"row {write.key['sk']} was done and is written again")
        for write, old, new in zip(writes, before, after, strict=True):
            if not isinstance(write, Check) and write.table is Table.SESSIONS:
                self._of_session(actor, writes, write, old, new)

    def _of_session(
        self, actor: Actor, writes: Sequence[Write], write: Write, old: Item | None, new: Item | None
    ) -> None:
        sk = write.key["sk"]
        is_settled = new is None or "settled" in new
        if sk == "META":
            self._meta(actor, old or {}, new or {}, writes)
        elif sk.startswith("RT#") and is_settled and old is not None and "settled" not in old:
            self._settled(old)
        elif sk.startswith("Q#"):
            self._question(write.key, old or {}, new or {})
        elif sk.startswith("ORDER#"):
            self._order(old or {}, new or {}, writes)
        elif sk.startswith("OUT#send-") and old is None:
            self._sent(write.key)

    def began(self, actor: Actor) -> None:
        """The agent is asked."""
        _expect(actor.claim is not None, "an agent is asked without a claim")
        _expect(actor.claim not in self._runs, f"two runs at one fence: {actor.claim}")
        self._runs.add(actor.claim or ("", 0))

    def posted(self, key: str) -> None:
        """A message arrives. Replies arrive in the order of their turns."""
        self._arrived.add(key)
        if key in self.committed:
            earlier = self.committed[: self.committed.index(key)]
            _expect(self._arrived.issuperset(earlier), f"reply {key} arrives before an earlier one")

    def _handoff(self, old: Item, new: Item) -> None:
        _expect(old.get("state") not in FINAL or old["state"] == new.get("state"), "a handoff changes after its end")
        if new.get("state") in UNDONE:  # its confirmation stays in the transcript, if it is not under way
            journal = f"kickoff-{new['handoff_id']}#"
            self.committed = [key for key in self.committed if not key.startswith(journal)]

    def _question(self, key: Mapping[str, Any], old: Item, new: Item) -> None:
        """Asked and answered only while its turn is alive at its fence, and decided once.

        The answer to one that does not block may come later: then it is a row.
        """
        turn_id, fence, _ = key["sk"].removeprefix("Q#").rsplit("#", 2)
        turn = self._tables.look(key["pk"], "META").get("turn", {})
        is_alive = (turn.get("id"), turn.get("fence"), turn.get("state")) == (turn_id, int(fence), CLAIMED)
        was, now = old.get("state"), new.get("state")
        if now == "open" and was is None:
            _expect(is_alive, "a question is asked after its turn")
        elif now == "answered" and was != now:
            is_late = new.get("blocks") is False and "row" in new
            _expect(is_alive or is_late, "a question is answered after its turn")
            _expect(self._clock.now() < new["expires_ms"], "a question is answered after its time")
        _expect(was in (None, "open") or now in (None, was), f"a question that is {was} becomes {now}")

    def _sent(self, key: Mapping[str, Any]) -> None:
        """A file enters the outbox only while its turn is alive at its fence."""
        journal, _, _ = key["sk"].removeprefix("OUT#send-").partition("#")
        turn_id, fence, _ = journal.rsplit("-", 2)
        turn = self._tables.look(key["pk"], "META").get("turn", {})
        is_alive = (turn.get("id"), turn.get("fence"), turn.get("state")) == (turn_id, int(fence), CLAIMED)
        _expect(is_alive, "a file is sent outside its turn")

    def _order(self, old: Item, new: Item, writes: Sequence[Write]) -> None:
        """Taken only where it was made, by one process at a time; over once, together with what the person is told."""
        was, now = old.get("state"), new.get("state")
        _expect(was not in ("done", "void") or old == new, f"an order that is {was} changes")
        if now == "taken" and new["fence"] != old["fence"]:
            meta = self._tables.look(f"SESSION#{new['session_id']}", "META")
            _expect((meta["owner"], meta["epoch"]) == (new["route"], new["epoch"]), "an order is taken after a move")
            _expect(was == "offered" or old["lease_until"] <= self._clock.now(), "a held order is taken")
            _expect(new["fence"] == old["fence"] + 1 <= STRIKES, "an order is taken too often")
            _expect(not self._is_revoked(), "a revoked runner takes an order")
        elif now in ("done", "void"):
            _expect(now == "void" or was == "taken", "an order is done that nobody has taken")
            told = [
                write for write in writes if isinstance(write, Put) and str(write.item["sk"]).startswith("OUT#told-")
            ]
            _expect(len(told) == 1, "an order ends, and nobody is told")

    def _native(self, actor: Actor, old: Item, new: Item) -> None:
        """Only a machine's commit says what its agent has seen; a machine leaves no mark of an interrupted run."""
        was, now = old.get("turn"), new.get("turn")
        is_commit = actor.kind == "runner" and was is not None and now is None and actor.claim is not None
        if new.get("native_seen") != old.get("native_seen") or (old.get("native_dirty") and "native_dirty" not in new):
            _expect(is_commit, "another than the machine changes what its agent has seen")
            _expect(new["native_seen"] == new["message_count"], "the machine's agent has not seen what it committed")
        if actor.kind == "runner" and new.get("resume_pending") != old.get("resume_pending"):
            _expect("resume_pending" not in new, "a machine leaves the mark of an interrupted run")

    def _meta(self, actor: Actor, old: Item, new: Item, writes: Sequence[Write]) -> None:
        if not old and new["session_id"] != SESSION:
            first = self._tables.look(f"SESSION#{SESSION}", "META")
            _expect("turn" not in first and not self._wants_machine(first), "a new session beside a turn or a machine")
        was, now = old.get("turn"), new.get("turn")
        if old and new:
            self._native(actor, old, new)
        if now is not None and (was is None or was["id"] != now["id"]):
            _expect(was is None, f"turn {now['id']} takes the place of a turn that is alive")
            self._offered(now["id"], old, new)
        elif was is not None and now is None:
            self._ended(actor, was, old, new, writes)
        elif was is not None and now is not None and was["fence"] != now["fence"]:
            if now["state"] == CLAIMED:
                self._claimed(actor, was, now, new)
            else:
                _expect(actor.claim == (was["id"], was["fence"]), "a turn is handed back by another executor")
                actor.claim = None
        elif was is not None and now is not None and was != now:
            _expect(_works_on(actor, was), "a lease is renewed by another executor")
            if now.get("begun_fence") != was.get("begun_fence"):
                fence = now["id"], now["fence"]
                _expect(fence not in self._runs, f"two runs at one fence: {fence}")
                _expect("native_dirty" in new, "a run begins without the mark for the next")
                self._runs.add(fence)

    def _offered(self, turn_id: str, old: Item, new: Item) -> None:
        offer = self._offers.get(turn_id, {})
        _expect(not old.get("suspended"), "a turn is offered in a suspended session")
        _expect((turn_id, 0) not in self._fences, f"turn {turn_id} is offered twice")
        _expect(offer.get("epoch") == new["epoch"], "an offer has the epoch of another place")
        _expect(self._are_new(offer), "an offer names a row that is done")
        wanted = "machine" if self._wants_machine(new, is_kickoff="handoff" in offer) else "cloud"
        has_moved = (
            old.get("epoch") != new["epoch"]
        )  # `/cloud` may come between the look and the move: it is taken back
        is_right = new["turn"]["by"] == wanted or self._is_revoked() or has_moved
        _expect(is_right, f"a turn that the {wanted} is to run is offered")
        self._fences.add((turn_id, 0))

    def _claimed(self, actor: Actor, was: Mapping[str, Any], now: Mapping[str, Any], meta: Item) -> None:
        offer = self._offers[was["id"]]
        is_restart = actor.restarts_at == (was["id"], was["fence"])
        _expect(was["lease_until"] <= self._clock.now() or is_restart, "a turn with a running lease is claimed")
        _expect((was["by"] == "machine") == (actor.kind == "runner"), "a turn is claimed by the other executor")
        _expect(was["by"] == "cloud" or not self._is_revoked(), "a revoked runner claims a turn")
        rows = self._tables.look(meta["pk"], f"RT#{was['id']}").get("rows", ())[: now.get("words", STEERED)]
        _expect(self._are_new({**offer, "rows": rows}), "closed words are begun")
        _expect(was["begun"] < STRIKES, "a run begins after too many interrupted ones")
        _expect(meta["epoch"] == offer["epoch"], "a turn of an old epoch is claimed")
        _expect((now["id"], now["fence"]) not in self._fences, "a fence is used twice")
        self._fences.add((now["id"], now["fence"]))
        actor.claim = now["id"], now["fence"]

    def _ended(self, actor: Actor, was: Mapping[str, Any], old: Item, new: Item, writes: Sequence[Write]) -> None:
        if old["epoch"] != new["epoch"]:  # the session has moved
            if self._fails_kickoff(writes):
                self._may_end(actor, was)
            return
        put = [str(write.item.get("sk", "")) for write in writes if isinstance(write, Put)]
        parts = [sk for sk in put if sk.startswith("OUT#")]
        offer = {**self._offers[was["id"]], **self._tables.look(old["pk"], f"RT#{was['id']}")}
        if parts:
            self._may_end(actor, was)
            _expect(old["epoch"] == offer["epoch"], "a commit by an old epoch")
            if actor.given:
                left = {row for row in offer.get("rows", ()) if self._are_new({**offer, "rows": [row]})}
                _expect(left == set(offer.get("rows", ())) - actor.given, "a commit closes other rows than were given")
                _expect(offer.get("result", {}).get("fence") == was["fence"], "a result is not kept")
                is_kept = any(isinstance(write, Put) and "~" in str(write.item.get("sk")) for write in writes)
                _expect(is_kept or not self._missed(actor, old["pk"], was), "an answer that was not taken is lost")
            else:
                _expect(not self._are_new(offer) or not offer.get("rows"), "a commit leaves its rows open")
            _expect("resume_pending" not in new, "a commit leaves the mark of an interruption")
            for sk in parts:
                turn_id, _, number = sk.removeprefix("OUT#").rpartition("#")
                self.committed.append(f"{turn_id}#{int(number)}")
        elif actor.kind == "webhook":
            _expect(any(row < actor.event_id for row in offer.get("rows", ())), "a late /stop ends a later turn")
        elif "active_handoff" in new and "active_handoff" not in old:
            _expect(_is_idle(was, self._clock.now()), "a handoff is requested while an executor works")
        elif self._are_new(offer) and not self._is_revoked():
            self._withdrawn(was, new, is_kickoff="handoff" in offer)

    def _missed(self, actor: Actor, pk: str, turn: Mapping[str, Any]) -> bool:
        """Whether a question that does not block was answered, and the agent has not taken the answer."""
        prefix = f"Q#{turn['id']}#{turn['fence']:06}#"
        asked = [one for one in self._tables.all(Table.SESSIONS) if one["pk"] == pk and one["sk"].startswith(prefix)]
        return any(
            one.get("blocks") is False
            and one["state"] == "answered"
            and "row" not in one
            and int(one["sk"].rpartition("#")[2]) not in actor.answered
            for one in asked
        )

    def _may_end(self, actor: Actor, was: Mapping[str, Any]) -> None:
        """The executor that has claimed the turn, or any other while none works on it."""
        if actor.claim is not None:
            _expect(actor.claim == (was["id"], was["fence"]), "a commit by an old fence")
            _expect(was["state"] == CLAIMED, "a commit of a turn that is only offered")
            actor.claim = None
        else:
            _expect(was["lease_until"] <= self._clock.now(), "a live run is ended by a stale message")

    def _fails_kickoff(self, writes: Sequence[Write]) -> bool:
        ends = [write for write in writes if isinstance(write, Update) and write.table is Table.HANDOFFS]
        return any((write.set.get("error") or {}).get("code") in BY_EXECUTOR for write in ends)

    def _withdrawn(self, was: Mapping[str, Any], new: Item, *, is_kickoff: bool) -> None:
        """A turn whose words are new ends only for the other executor, and only while none works on it."""
        if is_kickoff and not any(item["state"] in OPEN for item in self._tables.all(Table.HANDOFFS)):
            return
        _expect(_is_idle(was, self._clock.now()), "a turn at work is withdrawn")
        wanted = "machine" if self._wants_machine(new, is_kickoff=is_kickoff) else "cloud"
        _expect(was["by"] != wanted, "a turn whose words are new is ended")

    def _wants_machine(self, meta: Item, *, is_kickoff: bool = False) -> bool:
        chosen = "runs_on" in meta and meta.get("answers") != "cloud"
        return chosen and not (is_kickoff and meta.get("cloud_kickoff")) and not self._is_revoked()

    def _is_revoked(self) -> bool:
        return "revoked" in self._tables.look(f"USER#{USER}", f"RUNNER#{RUNNER}")

    def _settled(self, offer: Item) -> None:
        turn_id = offer["sk"].removeprefix("RT#")
        alive = self._tables.look(offer["pk"], "META").get("turn", {}).get("id")
        _expect(alive != turn_id, "a turn that is alive is settled")
        journal = f"kickoff-{offer['handoff']}" if "handoff" in offer else turn_id
        unsent = [key for key in self.committed if key.startswith(f"{journal}#") and key not in self._arrived]
        _expect(not unsent, f"turn {turn_id} is settled before its reply has arrived")

    def _are_new(self, offer: Item) -> bool:
        rows = (self._tables.look(f"INBOX#{offer['route']}", row) for row in offer.get("rows", ()))
        return all(row.get("status") == "new" for row in rows)


def _is_idle(turn: Mapping[str, Any], now: int) -> bool:
    """Whether no executor works on the turn."""
    return turn["state"] != CLAIMED or bool(turn["lease_until"] <= now)


def _works_on(actor: Actor, turn: Mapping[str, Any]) -> bool:
    """Whether the actor has claimed the turn at this fence."""
    return actor.claim == (turn["id"], turn["fence"])


def undrained(tables: WalkTables, committed: Sequence[str]) -> list[str]:
    """What is not done yet.

    A notice may be left: its sender died, and its row was answered in another way since. Progress is best effort, and so
    is a file of a turn that was ended without an answer.
    """
    answered = {key.partition("#")[0] for key in committed}
    handoffs = tables.all(Table.HANDOFFS)
    left = [f"handoff {item['state']}" for item in handoffs if item["state"] in OPEN]
    kickoffs = (f"OUT#kickoff-{item['handoff_id']}#" for item in handoffs if item["state"] in UNDONE)
    no_matter = ("SESSION#at-", "OUT#progress-", "OUT#question-", *kickoffs)
    for item in tables.all(Table.SESSIONS):
        pk, sk = item["pk"], item["sk"]
        if pk.startswith("INBOX#") and item["status"] == "new":
            left.append(f"row {sk} is new")
        elif sk == "META" and "turn" in item:
            left.append(f"{pk} has turn {item['turn']['id']}")
        elif sk.startswith("RT#") and "settled" not in item:
            left.append(f"{sk} is not settled")
        elif sk.startswith("Q#") and item["state"] == "open" and item.get("blocks") is not False:
            left.append(f"{sk} is open")
        elif sk.startswith("ORDER#"):
            left += [f"{sk} is {item['state']}"] if item["state"] in ("offered", "taken") else []
        elif pk.startswith("RUNNER#"):
            left.append(f"{sk} is still polled")
        elif sk.startswith("OUT#send-") and sk.removeprefix("OUT#send-").rsplit("-", 2)[0] not in answered:
            continue
        elif (
            sk.startswith("OUT#") and item["state"] != "sent" and not any(one.startswith(no_matter) for one in (pk, sk))
        ):
            left.append(f"{pk} {sk} is {item['state']}")
    return left


def check_end(tables: WalkTables, platform: WalkPlatform, committed: Sequence[str], *, endings: set[str]) -> None:
    """Everything has drained: each reply arrived once, each row was answered once and ended as it may."""
    arrived = Counter(post.key for posts in platform.posts.values() for post in posts)
    for key, times in arrived.items():
        _expect(times == 1, f"{key} arrived {times} times")
    for key in committed:
        _expect(arrived[key] == 1, f"reply {key} did not arrive")
    for handoff in tables.all(Table.HANDOFFS):
        if "command" in handoff:
            _expect(arrived[f"moved-{handoff['command']}#0"] == 1, "the chat was not told how its handoff ended")
    items = tables.all(Table.SESSIONS)
    answered = Counter(
        message.get("id") for item in items if item["sk"].startswith("CHUNK#") for message in unpack(item["data"])
    )
    said = {
        message.get("id"): message
        for item in items
        if item["sk"].startswith("CHUNK#")
        for message in unpack(item["data"])
    }
    for item in items:
        if item["pk"].startswith("INBOX#"):
            _check_row(item, arrived, answered, endings)
            _check_files(item, said.get(f"{item['pk'].removeprefix('INBOX#')}/{item['sk']}"), platform)


def check_sent(platform: WalkPlatform, sent: Mapping[bytes, str]) -> None:
    """Each file that an agent sent arrived once if it was told so, and at most once else."""
    arrived = Counter(post.content for posts in platform.posts.values() for post in posts if post.file)
    _expect(arrived.keys() <= sent.keys(), "a file arrives that nobody sent")
    for content, told in sent.items():
        times = arrived[content]
        _expect(times <= 1, f"a file arrived {times} times")
        _expect(told != "sent" or times == 1, "a file is lost that was said to be sent")
        _expect(told != "rejected" or times == 0, "a file arrived that was said to be rejected")


def _check_row(row: Item, arrived: Mapping[str, int], answered: Mapping[Any, int], endings: set[str]) -> None:
    done_by = row["done_by"]
    by_turn = "/" in done_by
    _expect(by_turn or done_by in endings, f"row {row['sk']} ended as {done_by}")
    times = answered.get(f"{row['pk'].removeprefix('INBOX#')}/{row['sk']}", 0)
    _expect(times == by_turn, f"row {row['sk']}, done by {done_by}, is in transcripts {times} times")
    if done_by == "command":
        _expect(arrived.get(f"told-{row['sk']}#0") == 1, f"command {row['sk']} was not answered")


def _check_files(row: Item, message: Mapping[str, Any] | None, platform: WalkPlatform) -> None:
    """The file of a row that is in a transcript is named there once, or the reason why it is not."""
    if message is None or not row.get("files"):
        return
    (file,) = row["files"]
    digest = sha256(platform.files[file["reference"]]).hexdigest()
    named = [entry["sha256"] for entry in message.get("files", ())]
    is_missing = str(message["content"]).count("which did not reach you") == 1
    _expect(named == ([] if is_missing else [digest]), f"row {row['sk']} comes with the files {named}")


def _expect(holds: object, otherwise: str) -> None:
    if not holds:
        raise Violation(otherwise)
