"""The list of faults. Each is one replacement of text, and `before` occurs exactly once in its file."""

from dataclasses import dataclass
from pathlib import Path


class NotApplicable(Exception):
    """The text that a fault replaces is not there, or more than once: the product has changed."""


@dataclass(frozen=True)
class Fault:
    """What is broken, where, and how."""

    name: str
    path: str
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source with the fault. Raises NotApplicable."""
        if source.count(self.before) != 1:
            raise NotApplicable(f"{self.name}: its text occurs {source.count(self.before)} times in {self.path}")
        return source.replace(self.before, self.after)

    def apply(self, root: Path) -> None:
        """Write the fault into a copy of the tree. Raises NotApplicable."""
        file = root / self.path
        if not file.is_file():
            raise NotApplicable(f"{self.name}: there is no {self.path}")
        file.write_text(self.applied(file.read_text("utf-8")), "utf-8")


FAULTS = [
    # Store
    Fault(
        "a turn is written at any fence",
        "shared/store/turns.py",
        'return [*unmoved, equals("turn.id", turn.id), equals("turn.fence", turn.fence)]',
        'return [*unmoved, equals("turn.id", turn.id)]',
    ),
    Fault(
        "a claimed handoff is claimed again",
        "shared/store/handoffs.py",
        'when=[allowed("claim"), may_start, in_time],',
        "when=[may_start, in_time],",
    ),
    Fault(
        "a session is moved by a process that lost its fence",
        "shared/store/moves.py",
        'when=[allowed("rebind"), fence_is_mine(handoff), not_bound(), equals("thread.route", place.route)],',
        'when=[allowed("rebind"), not_bound(), equals("thread.route", place.route)],',
    ),
    Fault(
        "a reply is committed to a transcript that has grown",
        "shared/store/turns.py",
        'when=[*is_at_fence(session), *mine, equals("message_count", session.message_count)],',
        "when=[*is_at_fence(session), *mine],",
    ),
    Fault(
        "two senders send one part",
        "shared/store/outbox.py",
        'abandoned = both(equals("state", "sending"), at_most("sending_until", now))',
        'abandoned = equals("state", "sending")',
    ),
    Fault(
        "a pairing code is used twice",
        "shared/store/links.py",
        "when=_still_open(link, now), set=linked)",
        "when=[], set=linked)",
    ),
    Fault(
        "a session has two handoffs at once",
        "shared/store/requests.py",
        '            absent("active_handoff"),\n',
        "",
    ),
    Fault(
        "a redelivered message replaces its row",
        "shared/store/inbox.py",
        'return Put(Table.SESSIONS, stamped(item), [absent("pk")])',
        "return Put(Table.SESSIONS, stamped(item))",
    ),
    Fault(
        "a decided question is decided again",
        "shared/store/questions.py",
        "when=[_OPEN, *when], set=changes)",
        "when=[*when], set=changes)",
    ),
    Fault(
        "a guest of an unshared thread is answered",
        "shared/store/turns.py",
        'return [equals("shared", value=True)] if is_guests else []',
        "return []",
    ),
    # Use cases
    Fault(
        "a webhook is not verified",
        "shared/use_cases/chat/receive_message.py",
        "if not platform.verify(request, now=now):",
        "if not platform.verify(request, now=now) and request.method != 'POST':",
    ),
    Fault(
        "a stranger in a group is answered",
        "shared/use_cases/chat/receive_message.py",
        "    elif user_id is None:\n",
        "    elif user_id is None and event.private:\n",
    ),
    Fault(
        "another user decides a question",
        "shared/use_cases/questions.py",
        "    if session.user_id != user_id:\n        return NOT_YOURS\n",
        "",
    ),
    Fault(
        "another attempt does not look for the thread",
        "shared/use_cases/handoffs/process_handoff.py",
        "look_first=was_interrupted)",
        "look_first=False)",
    ),
    Fault(
        "an expired token is accepted",
        "shared/use_cases/people/authenticate.py",
        "if token is None or token.is_expired(now):",
        "if token is None:",
    ),
    Fault(
        "a user reads the session of another",
        "shared/use_cases/access.py",
        "if session is None or session.user_id != user_id:\n        raise UnknownSession",
        "if session is None:\n        raise UnknownSession",
    ),
    Fault(
        "a code that others can see is accepted",
        "shared/use_cases/chat/pair.py",
        "    if not is_private:\n",
        "    if False:\n",
    ),
    Fault(
        "a runner that was superseded goes on",
        "shared/use_cases/runners/live_turn.py",
        "or not session.turn.is_claimed or session.turn.fence != name.fence:",
        "or not session.turn.is_claimed:",
    ),
    Fault(
        "a handoff is complete before its confirmation is delivered",
        "shared/use_cases/turns/settle.py",
        "        deliver(services, handoff.session_id, handoff.kickoff_turn, until=until)\n",
        "        pass\n",
    ),
    # Functions
    Fault(
        "a token may do what its scopes do not allow",
        "functions/http/dependencies.py",
        "        caller.require(self._scope)\n",
        "",
    ),
    Fault(
        "a message that is to come again is deleted",
        "functions/turn/handler.py",
        'return {"batchItemFailures": [{"itemIdentifier": failure} for failure in failures]}',
        'return {"batchItemFailures": [] if failures else failures}',
    ),
    # Agents
    Fault(
        "the role of a message is lost",
        "shared/agents/openai/messages.py",
        'return [{"role": entry.role, "content": entry.text}]',
        'return [{"role": "user", "content": entry.text}]',
    ),
    # Platforms
    Fault(
        "an old webhook of Slack is accepted",
        "shared/platforms/slack/inbound.py",
        "if not secret or not is_fresh(timestamp, now=now):",
        "if not secret:",
    ),
    Fault(
        "any signature of WhatsApp is accepted",
        "shared/platforms/whatsapp/inbound.py",
        'return is_equal(request.headers.get(_SIGNATURE), f"sha256={digest}")',
        'return len(request.headers.get(_SIGNATURE, "")) == len(f"sha256={digest}")',
    ),
    Fault(
        "a message of a bot is answered",
        "shared/platforms/telegram/inbound.py",
        '    if sender["is_bot"]:\n        return Parsed(ignored="a message of a bot")\n',
        "",
    ),
    # SQLite
    Fault(
        "writes are published before their commit",
        "shared/sqlite/tables.py",
        "            _store(connection, rows)\n"
        "        for write, item in zip(writes, after, strict=True):\n"
        "            if item is not None and not isinstance(write, Check):\n"
        "                self._changed(write.table, item)\n",
        "            _store(connection, rows)\n"
        "            for write, item in zip(writes, after, strict=True):\n"
        "                if item is not None and not isinstance(write, Check):\n"
        "                    self._changed(write.table, item)\n",
    ),
    Fault(
        "an answer is sent before the disk has it",
        "shared/sqlite/database.py",
        "                _flush(self._log)\n",
        "                pass\n",
    ),
    # Runner
    Fault(
        "a result is not written down before it is sent",
        "cli/handoff_cli/runner/machine/journal.py",
        "return self.save(replace(entry, result=result, spooled_at=since))",
        "return replace(entry, result=result, spooled_at=since)",
    ),
    Fault(
        "a question that expired counts as allowed",
        "cli/handoff_cli/runner/work/exchange.py",
        'allowed = decision.get("state") == "answered"',
        'allowed = decision.get("state") in {"answered", "expired"}\n'
        '                decision["option"] = decision.get("option") or "1"',
    ),
    # CLI
    Fault(
        "a repeated upload stores its messages twice",
        "cli/handoff_cli/handoff/upload.py",
        "        stored += len(piece)\n",
        "        stored += len(piece) - 1\n",
    ),
]
