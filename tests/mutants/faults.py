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
    # Files
    Fault(
        "a copy of a session has the names of files only",
        "shared/use_cases/sessions/resume_session.py",
        "        copy_file(services, item, copy)\n",
        "        services.store.files.get(copy.id, item.file.id)\n",
    ),
    Fault(
        "a copy of a session keeps files longer than the original",
        "shared/use_cases/files/keep_file.py",
        "until=item.due_at if item.is_stored else _end(services)",
        "until=_end(services)",
    ),
    Fault(
        "a copy of a session that is deleted while it is made leaves bytes",
        "shared/use_cases/files/keep_file.py",
        "        services.files.delete(item.key)\n",
        "        pass\n",
    ),
    Fault(
        "a refused copy of a session keeps its room",
        "shared/use_cases/sessions/resume_session.py",
        "isinstance(refused, FilesFull) or idempotency_key is None",
        "idempotency_key is None",
    ),
    Fault(
        "an import takes other bytes than those of the digest",
        "local/transfer/file_bytes.py",
        "(self._left or self._digest.hexdigest() != digest_of(_key_of(self._item)))",
        "self._left",
    ),
    Fault(
        "a place is looked at before it is known whether a row still waits",
        "shared/use_cases/turns/run_turn.py",
        """            pause = seconds_to_wait(services, message)
            look_at_inbox(services, place, budget, expected=message.event_id)
""",
        """            look_at_inbox(services, place, budget, expected=message.event_id)
            pause = seconds_to_wait(services, message)
""",
    ),
    Fault(
        "a dead letter of a message that waits for files is dropped",
        "shared/use_cases/recovery/sweep.py",
        "case InboxEvent(event_id=event_id) | Ready(event_id=event_id):",
        "case InboxEvent(event_id=event_id):",
    ),
    Fault(
        "a file is counted beyond the limit",
        "shared/store/files.py",
        "when=[has_room] if self._limit else [],",
        "when=[],",
    ),
    Fault(
        "a file that is leaving is stored anew",
        "shared/store/files.py",
        "is_leaving is False:",
        "is_leaving is not None:",
    ),
    Fault(
        "other bytes than announced are kept",
        "shared/ports/files.py",
        "if count != size or digest.hexdigest() != digest_of(key):",
        "if count != size:",
    ),
    Fault(
        "words overtake a file before them",
        "shared/use_cases/files/wait_for_files.py",
        "return asked[:waiting]",
        "return [row for row in asked if not row.files or row.read is not None]",
    ),
    Fault(
        "a file is posted after the turn",
        "shared/store/sends.py",
        'alive = [*is_at_fence(session), equals("turn.state", CLAIMED), *may_show]',
        "alive = may_show",
    ),
    Fault(
        "a file of a shared thread needs no permission",
        "shared/store/sends.py",
        'may_show = [] if allowed else [differs("shared", value=True)]',
        "may_show: list[Condition] = []",
    ),
    Fault(
        "a doubtful file is sent again and again",
        "shared/use_cases/deliver.py",
        "if claimed.file and claimed.placeholder is not None:",
        "if False:",
    ),
    Fault(
        "a file waits after its turn was stopped",
        "shared/use_cases/turns/settle.py",
        "        withdraw_files(services, offer)\n",
        "        deliver_files(services, offer, until=until)\n",
    ),
    Fault(
        "links out of the directory are followed",
        "cli/handoff_cli/runner/outgoing/opened.py",
        "_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
        "_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
    ),
    Fault(
        "a long question may be allowed though its file is lost",
        "shared/use_cases/questions/show.py",
        "return is_lost and services.store.questions.decline(question, now=services.clock.now())",
        "return False",
    ),
    Fault(
        "a voice message holds up words for minutes",
        "shared/domain/orders.py",
        "WORDS_WITHIN = 20_000",
        "WORDS_WITHIN = 120_000",
    ),
    Fault(
        "a machine's words that come while the message is still read are lost",
        "shared/use_cases/files/fetch_files.py",
        "        if not all(_is_open(services, order) for order in orders):\n            services.runs.send(message)\n",
        "",
    ),
    Fault(
        "a recording for a machine is kept as files are",
        "shared/use_cases/files/transcribe.py",
        "until=services.clock.now() + _KEPT",
        "until=None",
    ),
    Fault(
        "another session's file is read",
        "shared/use_cases/files/read_file.py",
        "item = services.store.files.get(session_id, file_id)",
        "item = services.store.files.get('s-1', file_id)",
    ),
    # Store
    Fault(
        "a commit misses an answer to a question that does not block",
        "shared/store/turns.py",
        'unless_more_than("answered", session.answered),',
        "",
    ),
    Fault(
        "a question is answered before all of it was shown",
        "shared/store/questions.py",
        'return [at_most("shown_ms", said_at), more_than("expires_ms", now)]',
        'return [more_than("expires_ms", now)]',
    ),
    Fault(
        "Done answers with what was marked since",
        "shared/use_cases/questions/decide.py",
        "if number_in(revision) != question.revision:",
        "if number_in(revision) is None:",
    ),
    Fault(
        "words that answer a question are steered too",
        "shared/use_cases/runners/report_turn.py",
        "known = {*offer.acknowledged, *report.acknowledged, *answering}",
        "known = {*offer.acknowledged, *report.acknowledged}",
    ),
    Fault(
        "a plan may be approved for good",
        "cli/handoff_cli/runner/questions/plan.py",
        'for kind in ("allow_once", "reject_once") if kind in first}',
        "for kind in first}",
    ),
    Fault(
        "a form of an MCP server is asked in the thread",
        "cli/handoff_cli/runner/questions/choice.py",
        'or (mode.tool_call_id is None and delivery != "async")',
        "",
    ),
    Fault(
        "a turn is written at any fence",
        "shared/store/turns.py",
        'return [*unmoved, equals("turn.id", turn.id), equals("turn.fence", turn.fence)]',
        'return [*unmoved, equals("turn.id", turn.id)]',
    ),
    Fault(
        "each unreadable message gets a line",
        "shared/store/inbox.py",
        'is_due = both(at_most("at", now - UNREADABLE_EVERY), differs("subject", subject))',
        'is_due = differs("subject", subject)',
    ),
    Fault(
        "files are fetched from any address",
        "shared/platforms/downloads.py",
        "if where not in source.origins | source.redirects:",
        "if where is None:",
    ),
    Fault(
        "the token goes to every host of files",
        "shared/platforms/downloads.py",
        "**(source.headers() if where in source.origins else {})",
        "**source.headers()",
    ),
    Fault(
        "a file may be longer than announced",
        "shared/platforms/downloads.py",
        "if got > most:",
        "if got > limit * 2:",
    ),
    Fault(
        "a page to log in counts as the file",
        "shared/platforms/downloads.py",
        'if media_type in _PAGES and file.media_type.partition(";")[0].strip().lower() not in _PAGES:',
        "if media_type in ():",
    ),
    Fault(
        "Telegram names any path for a file",
        "shared/platforms/telegram/api.py",
        "if not _FILE_PATH.fullmatch(path):",
        "if not path:",
    ),
    Fault(
        "a file on Slack is not found again",
        "shared/platforms/slack/adapter.py",
        "file_id = self._api.upload(file, _keyed(title, key))",
        "file_id = self._api.upload(file, title)",
    ),
    Fault(
        "a file is posted to Discord without its nonce",
        "shared/platforms/discord/adapter.py",
        '"content": caption_of(caption, self.capabilities),\n            "nonce": nonce(key),',
        '"content": caption_of(caption, self.capabilities),',
    ),
    Fault(
        "forwarded words on Telegram are the sender's",
        "shared/platforms/telegram/inbound.py",
        'for name in ("forward_origin", "forward_date", "via_bot")',
        "for name in ()",
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
        'equals("message_count", session.message_count),\n                unless',
        "unless",
    ),
    Fault(
        "two senders send one part",
        "shared/store/outbox.py",
        'abandoned = both(equals("state", "sending"), is_over("sending_until", now))',
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
        'when=[_OPEN, *when], set={"state"',
        'when=[*when], set={"state"',
    ),
    Fault(
        "a guest of an unshared thread is answered",
        "shared/store/turns.py",
        'return [equals("shared", value=True)] if is_guests else []',
        "return []",
    ),
    Fault(
        "an order is answered by a process that lost it",
        "shared/store/orders.py",
        'when=[not_newer(), equals("state", OrderState.TAKEN.value), equals("fence", order.fence)],',
        'when=[not_newer(), equals("state", OrderState.TAKEN.value)],',
    ),
    Fault(
        "the file of an answer is looked for in the place's own journal",
        "shared/use_cases/deliver.py",
        "services.store.files.get(part.file_of or part.session_id, file.id)",
        "services.store.files.get(part.session_id, file.id)",
    ),
    Fault(
        "words are said again without their files",
        "shared/use_cases/chat/session_commands.py",
        "read_for=session.id if files else None,",
        "read_for=None,",
    ),
    Fault(
        "an order is taken for a session that has moved",
        "shared/store/orders.py",
        "self._tables.transact([change, _may_work(order), *([_lives_here(order)] if order.session_id else [])])",
        "self._tables.transact([change, _may_work(order)])",
    ),
    Fault(
        "an order requests a handoff for another session than it has stored",
        "shared/store/orders.py",
        'return [replace(requested, when=[*requested.when, equals("made", handoff.session_id)]), _may_work(order)]',
        "return [requested, _may_work(order)]",
    ),
    Fault(
        "an order takes a session that lives in a chat",
        "shared/store/orders.py",
        'equals("owner", session.cli.route),',
        "",
    ),
    Fault(
        "a handoff is requested for an order that is over",
        "shared/store/requests.py",
        "*(writes_of_request(order, handoff) if order else [])",
        "",
    ),
    Fault(
        "an older list replaces the newest one",
        "shared/store/lists.py",
        "[not_newer(), older]",
        "[not_newer()]",
    ),
    Fault(
        "an order is void while it may be done",
        "shared/store/orders.py",
        "when=[not_newer(), _OPEN, *conditions],",
        "when=[not_newer(), _OPEN],",
    ),
    Fault(
        "going on adds a limit with each press",
        "shared/store/budgets.py",
        'equals("budget.asked", asked), equals("budget.open", value=True)]',
        'equals("budget.asked", asked)]',
    ),
    Fault(
        "a stopped turn is counted with each report",
        "shared/store/machine_turns.py",
        'absent("result"), absent("counted")],',
        'absent("result")],',
    ),
    Fault(
        "a commit forgets a stopped turn that was counted meanwhile",
        "shared/store/turns.py",
        "[usage_as_read(session)] if commit.usage else []",
        "[]",
    ),
    Fault(
        "a choice is kept though a later one came between",
        "shared/store/orders.py",
        'as_read = [*_unmoved(order), equals("version", session.version)]',
        "as_read = _unmoved(order)",
    ),
    # Use cases
    Fault(
        "an order sets what the person has set otherwise since",
        "shared/use_cases/orders.py",
        "if session is not None and is_too_late(order, session):",
        "if False:",
    ),
    Fault(
        "a command that is run again answers the next question of a budget",
        "shared/use_cases/budgets.py",
        "if by and budget.by == by:",
        "if False:",
    ),
    Fault(
        "an order moves a session that has left its terminal",
        "shared/use_cases/runners/move_by_order.py",
        "raise Moved(session)  # with",
        "pass  # with",
    ),
    Fault(
        "orders are polled in no order",
        "shared/store/orders.py",
        "key=lambda order: (order.created_at, order.id)",
        "key=lambda order: order.id",
    ),
    Fault(
        "an order opens an agent whose turn has ended",
        "cli/handoff_cli/runner/order.py",
        "if beside is not None and not beside.is_open:",
        "if False:",
    ),
    Fault(
        "words that an agent has heard and not answered are said again",
        "cli/handoff_cli/runner/work.py",
        "await self._is_said(name)]",
        "False]",
    ),
    Fault(
        "words are not found before others that the agent was steered with",
        "cli/handoff_cli/runner/prompts.py",
        "(len(words) + since)",
        "len(words)",
    ),
    Fault(
        "a model that the operator does not list any more is asked",
        "shared/use_cases/service_models.py",
        "if session.service_model and is_listed else",
        "if session.service_model else",
    ),
    Fault(
        "turns are offered beyond the budget",
        "shared/use_cases/turns/offer_turn.py",
        "if watch_budget(services, session):",
        "if watch_budget(services, session) and not rows:",
    ),
    Fault(
        "an order is made for a machine that is away",
        "shared/use_cases/chat/dial_commands.py",
        "if not runner.is_online(services.clock.now()):",
        "if runner.revoked:",
    ),
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
        "shared/use_cases/presses.py",
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
        "        caller.require(*self._scopes)\n",
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
        'return [{"role": entry.role, "content": content}]',
        'return [{"role": "user", "content": content}]',
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
        "cli/handoff_cli/runner/questions/permission.py",
        'if decision["state"] != "answered":\n            return None\n',
        'if decision["state"] == "expired":\n            return self.options[0].id\n',
    ),
    # CLI
    Fault(
        "a repeated upload stores its messages twice",
        "cli/handoff_cli/handoff/upload.py",
        "        stored += len(piece)\n",
        "        stored += len(piece) - 1\n",
    ),
    # Nothing is run that was not shown
    Fault(
        "the number of a question is given twice",
        "shared/use_cases/runners/report_turn.py",
        "shown_as=session.questions + 1,",
        "shown_as=asked.number,",
    ),
    Fault(
        "a step whose secrets are masked can be allowed",
        "cli/handoff_cli/runner/questions/shown.py",
        'return detail, MASKED if is_masked else ""',
        'return detail, ""',
    ),
    Fault(
        "a step of which only the file is named can be allowed",
        "cli/handoff_cli/runner/questions/shown.py",
        "return entry.value not in _NOTHING and not entry.is_beside",
        "return entry.value not in _NOTHING",
    ),
    Fault(
        "a hidden character of a step is shown as it is",
        "cli/handoff_cli/runner/questions/visible.py",
        'return kind[0] in "CZ" or',
        'return kind[0] in "Z" or',
    ),
    Fault(
        "an agent that has stopped asking is left so",
        "cli/handoff_cli/runner/acp/modes.py",
        "            self._left.append((mode, asyncio.create_task(self._set_back())))\n",
        "            self._current = mode\n",
    ),
    Fault(
        "an agent is prompted before its mode is set back",
        "cli/handoff_cli/runner/acp/connection.py",
        "notes = [await self._client.modes.settle()]",
        'notes = [""]',
    ),
    Fault(
        "an agent that has stopped asking stays open",
        "cli/handoff_cli/runner/acp/connection.py",
        " and not self._client.modes.is_lost",
        "",
    ),
    Fault(
        "a plan shows no marks for what nobody sees",
        "cli/handoff_cli/runner/questions/plan.py",
        "    text = visible_in_markdown(text)\n",
        "",
    ),
    Fault(
        "a plan in which Markdown hides something is not shown as code",
        "shared/use_cases/questions/show.py",
        "if not may_hide(plan):",
        "if True:",
    ),
    Fault(
        "a process is prompted that does not know what was said in the terminal",
        "cli/handoff_cli/runner/agent.py",
        "            and (rest.file is None or rest.file.is_as_marked())\n",
        "",
    ),
    Fault(
        "words that an open process may have taken are repeated without a note",
        "cli/handoff_cli/runner/work.py",
        '{**self._claim, "native_dirty": True}',
        "self._claim",
    ),
    Fault(
        "an agent that asks between two turns stays open",
        "cli/handoff_cli/runner/acp/client.py",
        "        self.disturbed.set()\n        return None\n\n    async def choose",
        "        return None\n\n    async def choose",
    ),
    Fault(
        "an agent without a turn outlives a killed runner",
        "cli/handoff_cli/runner/program.py",
        "            for lock in session_locks(self._runner.state):\n",
        "            for lock in []:\n",
    ),
    Fault(
        "a session that another agent answers stays open",
        "shared/use_cases/runners/register.py",
        " and session.answers is Executor.MACHINE",
        "",
    ),
    # HTTP
    Fault(
        "a compressed body is read",
        "functions/http/guard.py",
        'if headers.get("content-encoding", "identity").lower() != "identity":',
        "if False:",
    ),
    Fault(
        "any number of requests waits for a platform",
        "local/server/http.py",
        "if self._slots.locked() and is_full:",
        "if False:",
    ),
    Fault(
        "a body has no deadline",
        "local/server/http_connections.py",
        "            _Phase.BODY: limits.body_seconds,\n",
        "",
    ),
    Fault(
        "the bytes of answered requests are counted on",
        "local/server/http_connections.py",
        "        self._release(but=len(self.conn.trailing_data[0]))  # the next request may have come already\n",
        "",
    ),
    Fault(
        "a body of any number of small chunks is parsed",
        "local/server/http_connections.py",
        "            if self._spare < 0:\n",
        "            if False:\n",
    ),
    Fault(
        "a chat is not told that it is no home any more",
        "shared/use_cases/people/set_home.py",
        "if before is not None and before != home:",
        "if False:",
    ),
    Fault(
        "a token of any scope links an account",
        "functions/http/dependencies.py",
        "LinkingCaller = Annotated[Caller, Depends(_CallerWith(Scope.LINK))]",
        "LinkingCaller = Annotated[Caller, Depends(_CallerWith(Scope.HANDOFF))]",
    ),
    # Sessions from a chat
    Fault(
        "a session that lives in a thread is sent to a second one",
        "cli/handoff_cli/runner/answerer.py",
        '        if session["owner"] != "cli":\n',
        "        if False:\n",
    ),
    Fault(
        "a thread that Codex has open is brought",
        "cli/handoff_cli/runner/errands.py",
        "            if await asyncio.to_thread(is_held, native, self._runner.environ):\n",
        "            if False:\n",
    ),
    Fault(
        "each press of a project begins a session",
        "shared/use_cases/chat/bring_command.py",
        "        skip, once = skip + 1, key_of(services, row, said[1:])\n",
        "        skip += 1\n",
    ),
    # One machine
    Fault(
        "all platforms share the threads of handoffs",
        "local/server/pool.py",
        "            if lane not in self._pools:\n",
        '            lane = "all"\n            if lane not in self._pools:\n',
    ),
    Fault(
        "an address of this machine gets a QR code",
        "cli/handoff_cli/ui/qr_code.py",
        "terminal.can_draw and not is_loopback(link) and",
        "terminal.can_draw and",
    ),
]
