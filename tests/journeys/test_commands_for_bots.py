"""Commands in groups that name a bot: only those that name ours, or none, have an effect."""

import json
import time
import uuid

import pytest

from local.chats.simulator.people import BOT, people_on
from local.chats.telegram import CHAT
from shared.domain.commands import COMMANDS
from shared.domain.routes import Place
from shared.store.inbox import InboxRow
from tests.shared.platforms.telegram.samples import GROUP, OWNER, sign
from tests.support.api_user import ApiUser
from tests.support.waiting import eventually

OURS = next(person.handle for person in people_on(CHAT.people) if person.key == BOT)
PLACE = Place(CHAT.name, str(GROUP["id"]))


def post(user: ApiUser, text: str) -> InboxRow | None:
    """Telegram posts a message of the owner in a group; the row that is stored for it."""
    number = uuid.uuid4().int % 10**8 + 10**8
    message = {"message_id": number, "from": OWNER, "chat": GROUP, "date": 1, "text": text}
    raw = json.dumps({"update_id": number, "message": message}).encode()
    headers = sign(user.service.simulator.secrets, raw, int(time.time()))
    assert user.http.post(f"/webhooks/{CHAT.name}", content=raw, headers=headers).status_code == 200
    return user.service.store.inbox.get(PLACE, f"{number:020d}")


@pytest.mark.parametrize("command", [*COMMANDS, "of_the_other"])
def test_a_command_for_another_bot_leaves_no_row(user: ApiUser, command: str) -> None:
    assert post(user, f"/{command}@other_bot") is None
    assert post(user, f"/{command}@{OURS}_too now") is None


@pytest.mark.parametrize("named", ["", f"@{OURS}", f"@{OURS.upper()}"])
def test_a_command_for_this_bot_is_run(user: ApiUser, named: str) -> None:
    before = user.service.store.sessions.at(PLACE)

    assert post(user, f"/new{named}") is not None

    eventually(lambda: user.service.store.sessions.at(PLACE) not in (None, before))


def test_a_stop_for_another_bot_stops_nothing(user: ApiUser) -> None:
    waiting = InboxRow(PLACE, f"{uuid.uuid4().int % 10**8:020d}", str(OWNER["id"]), "go on", 0, "owner")
    user.service.store.inbox.put(waiting)  # not queued, so that no turn answers it

    assert post(user, "/stop@other_bot") is None
    assert user.service.store.inbox.get(PLACE, waiting.event_id) == waiting

    assert post(user, f"/stop@{OURS}") is not None
    stopped = user.service.store.inbox.get(PLACE, waiting.event_id)
    assert stopped is not None
    assert stopped.done_by == "stopped"
