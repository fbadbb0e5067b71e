"""Files of messages in chats, before a turn is offered: asked for, waited for, and albums put together.

    row ──(the place asks)──> asked ──(a `Fetch` message reads them)──> read ──> offered with its turn
                                └──(two minutes)──> offered with the reason

The line of a place never reads a file. Commands wait for none.
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace

from shared.domain.attachments import KINDS, VOICE
from shared.domain.files import ChatFile, Unread, safe_name, spoken_of, told_unread
from shared.domain.orders import WORDS_WITHIN
from shared.domain.question_text import as_plain
from shared.domain.sessions import Session
from shared.errors import Rejected
from shared.ports.metrics import Metric
from shared.ports.queue import Fetch, Ready
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.deliver import say

LONGEST = 120_000
"""Milliseconds until a message is answered without files that were not read."""
VOICE_LONGEST = WORDS_WITHIN
"""The same for a voice message."""
FETCH_AGAIN = 55.0
"""Seconds after which the files are asked for once more: a process that reads them may have died."""
UNSENT = 5_000
"""Milliseconds after which the files are asked for once more if nobody has begun to read them."""
ALBUM_QUIET = 1_000
"""Milliseconds after the last message of an album, and `ALBUM_LONGEST` after its first, until it is whole."""
ALBUM_LONGEST = 5_000
MOST_PAUSE = 5.0


def ready_rows(services: Services, session: Session, rows: Sequence[InboxRow]) -> list[InboxRow]:
    """The rows before the first one that must wait; asks for the files of all others. Safe to repeat."""
    now = services.clock.now()
    asked = [_asked(services, session, row, now) for row in rows]
    waiting = next((index for index, row in enumerate(asked) if _must_wait(asked, row, now)), len(asked))
    if waiting < len(asked):
        first = asked[waiting]
        # Each look may send it anew: within five minutes the queue drops those of the same half minute. One that was
        # sent before another session asked may be over.
        services.queue.send(
            Ready(first.place, first.event_id),
            dedupe=f"ready {first.event_id} {first.asked_at} {now // 30_000}",
            line=f"ready {first.place.route} {first.event_id}",
        )
    return asked[:waiting]


def seconds_to_wait(services: Services, message: Ready) -> float | None:
    """When to look again at a row that may still wait for its files, or for the rest of its album; None: no more.

    Ask before you look at the inbox: files that are read in between would be seen by nobody, if their reader dies then.
    """
    row = services.store.inbox.get(message.place, message.event_id)
    if row is None or row.done_by is not None:
        return None
    now = services.clock.now()
    waited = (now - row.received_at) / 1000
    left = ((row.asked_at or row.received_at) + _longest(row) - now) / 1000
    has_files = bool(row.files) and row.read is None and left > 0
    if has_files or (row.files and row.album and now < row.received_at + ALBUM_LONGEST + ALBUM_QUIET):
        pause = min(MOST_PAUSE, max(1.0, math.floor(waited / 3)))
        return min(pause, max(1.0, math.ceil(left))) if has_files else pause
    return None


def tell_read(services: Services, row: InboxRow) -> None:
    """Say what was understood of a row's voice messages, and which files did not come: once for a message.

    Safe to repeat. Raises NotYet.
    """
    spoken = spoken_of(row.read or ())
    heard = f"Heard: {as_plain(spoken)}" if spoken else ""
    if row.read and (text := "\n\n".join(filter(None, [heard, told_unread(row.read)]))):
        with contextlib.suppress(Rejected):
            say(services, row.place, text, key=f"files-{row.place.route}-{row.event_id}")


def album_groups(rows: Sequence[InboxRow]) -> list[list[InboxRow]]:
    """Rows of one album together, all others alone, in their order."""
    groups: list[list[InboxRow]] = []
    for row in rows:
        if groups and row.album and groups[-1][0].album == row.album:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def shown_name(file: ChatFile) -> str:
    """The name of a file of a chat; its kind where it has none."""
    is_named = file.name and file.kind != VOICE
    return safe_name(file.name) if is_named else KINDS[file.kind][0].removeprefix("a ").removeprefix("an ")


def _asked(services: Services, session: Session, row: InboxRow, now: int) -> InboxRow:
    """The row, with its files asked for, or given up when they take too long."""
    if not row.files:
        return row
    fetch = Fetch(row.place, row.event_id, session.id)
    if row.read_for != session.id:
        if services.store.inbox.ask_for_files(row, session.id, now=now):
            services.runs.send(fetch, again=FETCH_AGAIN)
        return replace(row, read_for=session.id, asked_at=now, read=None)
    if row.read is None and now >= row.asked_at + _longest(row):
        late = [Unread(shown_name(file), "it could not be read in time") for file in row.files]
        if services.store.inbox.end_read(row, late):
            services.metrics.put((Metric.FILES_UNREAD, len(late)), platform=row.place.platform)
        return services.store.inbox.get(row.place, row.event_id) or row
    if row.read is None and not row.tries and now >= row.asked_at + UNSENT:
        services.runs.send(fetch)  # a process died before it sent the first one, or that is lost
    return row


def _longest(row: InboxRow) -> int:
    return VOICE_LONGEST if any(file.kind == VOICE for file in row.files) else LONGEST


def _must_wait(rows: Sequence[InboxRow], row: InboxRow, now: int) -> bool:
    if row.files and row.read is None:
        return True
    if row.album is None or not row.files:
        return False
    came = [one.received_at for one in rows if one.album == row.album]
    return now < min(max(came) + ALBUM_QUIET, min(came) + ALBUM_LONGEST)
