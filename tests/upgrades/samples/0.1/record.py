# mypy: ignore-errors  # it imports the modules of the recorded release, which have other names now
"""How sample.json was made: the code of release 0.1 (commit 5103bfd) fills both tables and the queue, on moto.

git worktree add /tmp/handoff-0.1 5103bfd && cd /tmp/handoff-0.1
PYTHONPATH=. python <this folder>/record.py > <this folder>/sample.json
"""

import contextlib
import itertools
import json
import secrets
import sys
from base64 import b64encode
from dataclasses import replace

from local.engine import Engine
from shared.aws.queue import body_of
from shared.aws.store import dynamo_store
from shared.domain.handoffs import Reason, Step, Thread
from shared.domain.interruptions import suspend
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import NotSent, RateLimited, Rejected
from shared.ports.inbox import InboxRow
from shared.ports.queue import TurnMessage
from shared.use_cases.accept_turn import accept_turn
from shared.use_cases.authenticate import hash_of
from shared.use_cases.cancel_handoff import cancel_handoff
from shared.use_cases.hold_turn import start_turn
from shared.use_cases.keep_session import keep_session
from shared.use_cases.resume_session import resume_session
from tests.shared.use_cases.use_case_world import HOME, LEASE, USER, World
from tests.tables import fresh_tables

TOKENS = {"ada": "ho_ada.sample-sample-sample-sample", "bob": "ho_bob.sample-sample-sample-sample"}
TOOLS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Run the tests 🚀"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "sh", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "3 passed"},
    {"role": "assistant", "content": [{"type": "text", "text": "All green."}]},
]


def fill(world):
    accounts(world)
    ended_handoffs(world)
    sessions_in_chats(world)
    sessions_in_terminals(world)
    deliveries(world)
    open_handoffs(world)
    waiting_messages(world)


def accounts(world):
    for user, token in TOKENS.items():
        world.store.accounts.add_token(user, hash_of(token))
    world.store.accounts.set_home("bob", Place("chat", "bobs"))
    world.store.accounts.set_home("ada", Place("other", "C:1", "2.5"))
    world.store.accounts.add_identity("bob", "chat", "bob-there")
    keep_session(world.services, "bob", "bobs", {"title": "Bob's"})
    world.session("h-overdue")
    world.ask("h-overdue")
    world.wait(1000)


def ended_handoffs(world):
    world.moved("completed")
    world.session("failed")
    world.platform.next["open_thread"].append(Rejected("the bot was removed"))
    world.process(world.ask("failed"))
    world.session("cancelled")
    cancel_handoff(world.services, USER, world.ask("cancelled").id)
    world.moved("resumed")
    resume_session(world.services, USER, "resumed", epoch=1)
    world.turns()
    world.session("resumed-early")
    world.ask("resumed-early")
    resume_session(world.services, USER, "resumed-early", epoch=0)
    world.session("undelivered")
    world.process(world.ask("undelivered"))
    world.platform.next["send"].append(Rejected("the thread is closed"))
    world.turns()


def sessions_in_chats(world):
    world.say(HOME, "What lives here?", "0001")
    world.turns()
    _, place = world.moved("answered")
    world.say(place, "Go on", "0001")
    world.say(place, "and on", "0002")
    world.say(place, "/status", "0003")
    world.turns()
    for reason in Interruption:
        session, _ = world.moved(f"chat-{reason.value}")
        mark = ResumePending(reason, world.clock.now())
        world.store.sessions.replace(session, replace(session, resume_pending=mark, strikes=1))
    session, _ = world.moved("chat-suspended")
    world.store.sessions.replace(session, suspend(session, now=world.clock.now()))


def sessions_in_terminals(world):
    world.session("idle", TOOLS)
    large = world.session("large")
    noise = [{"role": "user", "content": f"{n} " + secrets.SAMPLE * 2000} for n in range(12)]
    world.store.transcripts.append(large, noise, now=world.clock.now())
    keep_session(world.services, USER, "named", {"title": "Named", "source": "codex", "cwd": "/src", "model": "m-1"})
    suspended = world.session("suspended")
    world.store.sessions.replace(suspended, suspend(suspended, now=world.clock.now()))
    start_turn(world.services, world.session("killed"), counts=True)
    world.wait(120)


def deliveries(world):
    """Committed replies that are not delivered: two of the messages stay in the queue."""
    troubles = {"waiting": NotSent("down"), "sending": RuntimeError("killed"), "rejected": Rejected("it is closed")}
    places = {name: world.moved(f"part-{name}")[1] for name in troubles}
    start_turn(world.services, world.session("running"), counts=True)  # time stands still from here on
    for name, trouble in troubles.items():
        world.say(places[name], f"Is it {name}?", "0001")
        world.platform.next["send"].append(trouble)
        with contextlib.suppress(RuntimeError):
            world.turn()


def open_handoffs(world):
    handoffs, now = world.store.handoffs, world.clock.now()

    def asked(name):
        world.session(f"h-{name}")
        return world.ask(f"h-{name}", message="Be brief.")

    def claimed(name):
        return handoffs.claim(asked(name).id, claimant=f"p-{name}", now=now, lease_until=now + LEASE)

    def opened(name):
        handoff = handoffs.step(claimed(name), Step.OPENING_THREAD, now=now)
        place = world.platform.open_thread(HOME, name, key=handoff.id, people=[])
        thread = Thread(place, world.platform.link(place))
        return handoffs.step(handoff, Step.THREAD_OPENED, now=now, thread=thread, notice="A notice.")

    def sent(name):
        handoff = handoffs.rebind(opened(name), now=now)
        world.queue.send(TurnMessage(handoff.thread.place, handoff_id=handoff.id), dedupe=name)
        return handoffs.kickoff_sent(handoff, now=now)

    confirmed = sent("confirmed")
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    assert handoffs.get(confirmed.id).confirmed
    asked("pending")
    world.platform.next["open_thread"].append(RateLimited(30))
    world.process(asked("limited"))
    handoffs.back_to_pending(
        claimed("again"), Reason("interrupted", "An attempt was interrupted."), now=now, not_before=now, counts=True
    )
    claimed("claimed")
    handoffs.step(claimed("opening"), Step.OPENING_THREAD, now=now)
    interrupted = handoffs.step(claimed("adopts"), Step.OPENING_THREAD, now=now)
    world.platform.open_thread(HOME, "adopts", key=interrupted.id, people=[])
    opened("opened")
    handoffs.rebind(opened("bound"), now=now)
    sent("sent")


def waiting_messages(world):
    world.session("accepted")
    accept_turn(world.services, USER, "accepted", epoch=0, turn_id="turn-1", text="Are you there?")
    place = world.current("completed").owner
    world.say(place, "I write in the thread", "0007")
    back = world.current("answered")
    resume_session(world.services, USER, "answered", epoch=back.epoch)
    dead = InboxRow(world.current("chat-killed").owner, "0009", "ada-there", "Never answered", world.clock.now(), USER)
    world.store.inbox.put(dead)
    world.dead.letters.append(TurnMessage(dead.place, event_id=dead.event_id))


def compact(value):
    """JSON in one line; bytes as base64."""
    return json.dumps(value, default=lambda data: b64encode(data).decode(), ensure_ascii=False, separators=(",", ":"))


def scan(client, table, key):
    items = [item for page in client.get_paginator("scan").paginate(TableName=table) for item in page["Items"]]
    return sorted(items, key=lambda item: [item[name]["S"] for name in key])


def main():
    engine = Engine.start()
    client = engine.client("dynamodb")
    numbers = itertools.count(1)
    secrets.token_hex = lambda size: f"{next(numbers):0{2 * size}x}"
    secrets.SAMPLE = "".join(chr(33 + (n * n * 7919 + n * 104729) % 90) for n in range(97))
    with fresh_tables(client) as names:
        world = World(dynamo_store(client, handoffs=names.handoffs, sessions=names.sessions))
        fill(world)
        sample = {
            "now": world.clock.now(),
            "tokens": TOKENS,
            "handoffs": scan(client, names.handoffs, ["handoff_id"]),
            "sessions": scan(client, names.sessions, ["pk", "sk"]),
            "queue": [{"body": body_of(one.message), "line": one.line} for one in world.queue.waiting],
            "dead": [body_of(message) for message in world.dead.letters],
            "threads": [{"thread": thread, "key": key} for thread, key in world.platform.threads.items()],
            "posts": [
                {"route": place.route, "key": key, "text": text}
                for place, posts in world.platform.posts.items()
                for key, text in posts
            ],
        }
    engine.stop()
    lines = {
        name: "[\n" + ",\n".join(compact(item) for item in value) + "\n]" if isinstance(value, list) else compact(value)
        for name, value in sample.items()
    }
    sys.stdout.write("{\n" + ",\n".join(f'"{name}": {text}' for name, text in lines.items()) + "\n}\n")


main()
