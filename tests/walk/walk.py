"""A random walk: the real use cases on a store in memory, interleaved, killed and delayed as a seed decides.

python -m tests.walk.walk SEED              prints the trace of one seed
python -m tests.walk.walk SEED machine      the same of one with a user's machine
python -m tests.walk.walk SEED orders       the same of one whose machine gets orders
python -m tests.walk.walk SEED choices      the same of one whose agent asks for choices
python -m tests.walk.walk SEED files        the same of one whose person sends files
python -m tests.walk.walk SEED sends        the same of one whose agent sends files
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from shared.domain.messages import Message
from shared.errors import AgentCancelled, AgentError, AgentFailed, AgentUnavailable
from shared.ports.agents import Listener
from shared.ports.queue import RunMessage
from shared.ports.tables import Item, Table, Write
from shared.use_cases.chat.dial_commands import LONGEST_WAIT
from shared.use_cases.files.wait_for_files import LONGEST as LONGEST_READ
from tests.support.fake_queue import NOW
from tests.support.use_case_world import TURN_LEASE
from tests.walk.actors import Actor, Workers
from tests.walk.configurations import (
    CONFIGURATIONS,
    WITH_CHOICES,
    WITH_FILES,
    WITH_MACHINE,
    WITH_ORDERS,
    WITH_SENDS,
    Configuration,
)
from tests.walk.functions import MINUTE, SECOND, THREAD, Functions, no_real_time
from tests.walk.invariants import SESSION, check_end, check_sent, undrained
from tests.walk.runner import Violation

HOUR = 60 * MINUTE
BEAT = 20 * SECOND
NAPPING = ("agent", "sweep", "runner")
TICKS = (0, 0, 1, 5, 40)
PAUSES = (SECOND, 10 * SECOND, 70 * SECOND, 100 * SECOND)
MOST_STEPS = 8_000
"""Steps of a whole walk, and runs once the faults are over: more of them are a loop."""
MOST_RUNS_AT_REST = 60
"""Some times as many where a command looks again and again whether its handoff has ended, or files were read."""
PLACE_REST = 2 * MINUTE
"""Time in which a place must take all its messages without executors and the sweep: a dead function's message returns."""
REST_IF_CALM = 5 * SECOND
"""Time in which everything must drain where no faults are: no lease and no sweep is waited for."""
REST = 10 * MINUTE
"""Time in which everything must drain once faults are over: a lease, and the sweeps for what was lost."""
REST_WITH_MACHINE = HOUR
"""The same with a machine: a question expires, a machine that is away is asked for again."""
REST_WITHOUT_EXECUTORS = 2 * HOUR
"""The same without executors: the time of all nudges of each turn."""
LONGEST = 6 * HOUR


class Failure(AssertionError):
    """A seed whose walk broke a rule."""

    def __init__(self, walk: "Walk", reason: str) -> None:
        kind = " machine" if walk.configuration in WITH_MACHINE else ""
        kind = " choices" if walk.configuration in WITH_CHOICES else kind
        kind = " orders" if walk.configuration in WITH_ORDERS else kind
        kind = " files" if walk.configuration in WITH_FILES else kind
        kind = " sends" if walk.configuration in WITH_SENDS else kind
        alone = f"seed {walk.seed} ({walk.configuration.name}); alone: python -m tests.walk.walk {walk.seed}{kind}"
        super().__init__("\n".join([reason, alone, *walk.trace.lines(), reason, alone]))
        self.reason = reason


class Walk(Functions):
    """One walk. Its seed decides who goes on, who dies, sleeps or is repeated, and what the person does when."""

    def __init__(
        self,
        seed: int,
        workers: Workers,
        *,
        with_machine: bool = False,
        with_choices: bool = False,
        with_orders: bool = False,
        with_files: bool = False,
        with_sends: bool = False,
    ) -> None:
        self.seed = seed
        kinds: Sequence[Configuration] = WITH_MACHINE if with_machine else CONFIGURATIONS
        kinds = WITH_CHOICES if with_choices else kinds
        kinds = WITH_ORDERS if with_orders else kinds
        kinds = WITH_FILES if with_files else kinds
        kinds = WITH_SENDS if with_sends else kinds
        config = kinds[seed % len(kinds)]
        self._random = random.Random(seed)  # noqa: S311  # a seed must lead to the same walk
        # A sender that sleeps may repeat a message where only reading back tells what has arrived.
        idempotency = "key" if config.slow or self._random.random() < 0.5 else "readback"
        super().__init__(workers, config, idempotency=idempotency)  # type: ignore[arg-type]  # one of both
        self._phase = "walk"
        self._until = self._steps = self._runs_at_rest = 0
        self._stickiness = self._random.choice((0.3, 0.7, 0.95))
        self._only_kills_runs = config.crashes > 1 and self._random.random() < 0.7
        self._faults = {
            "crash": config.crashes,
            "nap": config.naps,
            "slow": config.slow,
            "conflict": config.conflicts if self._random.random() < 0.5 else 0,
            "hidden": config.hidden,
            "copy": config.copies,
            "failure": config.agent_failures,
            "ask": config.asks,
            "send": config.sends,
            "press": config.presses,
            "refusal": config.refusals,
        }
        self._said: list[str] = []
        self._acts = self._shuffled_acts()
        self._next_act = self._next_act_step = 0
        self._next_poll = 0
        self._next_sweep = self.clock.now() + self._random.randrange(MINUTE)

    def run(self) -> None:
        """Walk with faults, then perhaps with all executors dead, then without faults until all is done. Raises Failure."""
        config = self.configuration
        try:
            with no_real_time(self):
                self._let("walk", steps=self._random.choice((40, 100, 200, 400, 400)))
                if self._random.random() < 0.3 and not config.calm:
                    self._lose_executors()
                self._faults.clear()
                self._acts = [] if config.machine_stays else ["/cloud"]
                self._let("rest", time=self._time_to_rest())
                self._check_end()
        finally:
            self._end_all()

    # What the ports call

    def step(self, *what: object) -> None:
        actor = self.baton.current
        if actor is not None:
            self.baton.step()
            actor.steps += 1
            self.trace.note(actor.name, *what)

    def trouble(self) -> str | None:
        actor = self.baton.current
        if actor is None or not self._meets(actor, "conflict"):
            return None
        trouble = self._random.choice(("refused", "answer lost"))
        self.trace.note(actor.name, trouble.upper())
        return trouble

    def wrote(self, writes: Sequence[Write], before: Sequence[Item | None], after: Sequence[Item | None]) -> None:
        actor = self.baton.current
        if actor is None:
            return
        for write, item in zip(writes, after, strict=True):
            if write.table is Table.HANDOFFS and (item or {}).get("state") == "pending":
                self.stream.append(write.key["handoff_id"])
        self._expect(lambda: self.invariants.wrote(actor, writes, before, after))

    def posted(self, key: str) -> None:
        self._expect(lambda: self.invariants.posted(key))

    def work(self, messages: Sequence[Message], progress: Listener | None) -> str | AgentError:
        actor = self.baton.current
        if actor is None:
            return ""
        self._expect(lambda: self.invariants.began(actor))
        is_long = self._phase == "walk" and not self.configuration.calm
        for times in range(self._random.choice((0, 0, 0, 1, 2, 6)) if is_long else 0):
            if progress is not None:
                progress("word " * (times + 1))
            actor.asleep_until = max(actor.asleep_until, self.clock.now() + BEAT)
            self.step("works")
            for beat in actor.beats:
                beat()
        if self._may("failure", 0.5):
            return self._random.choice((AgentFailed("no such model"), AgentUnavailable("overloaded")))
        return AgentCancelled() if self._random.random() < 0.5 else f"reply to {len(messages)}"

    def _expect(self, check: Callable[[], None]) -> None:
        try:
            check()
        except Violation as violation:
            self.fail(str(violation))
            raise

    def may(self, fault: str, chance: float) -> bool:
        return self._may(fault, chance)

    def pick(self, count: int) -> int:
        return self._random.randrange(count) if self._phase == "walk" and count else 0

    # Which actor goes on

    def choose(self, me: Actor | None) -> Actor | None:
        """The running actor, another, or a new one. Time passes while none can go on."""
        if self._phase == "end":
            return next(iter(self.baton.alive), None)
        self._steps += 1
        if self._steps > MOST_STEPS:
            self.fail("a loop: too many steps")
        self.clock.time += self._random.choice(TICKS)
        if me is not None:
            self._meet_fault(me)
            if self._can_go_on(me) and self._random.random() < self._stickiness and not self.failure:
                return me
        while not self.failure and not self._is_over():
            actors = [actor for actor in self.baton.alive if self._can_go_on(actor)]
            options: list[Callable[[], Actor | None]] = [*(partial(_itself, actor) for actor in actors)]
            options += self._arrivals()
            if not options:
                self._let_time_pass()
            elif (chosen := self._random.choice(options)()) is not None:
                return chosen
        return None

    def _can_go_on(self, actor: Actor) -> bool:
        actor.is_killed = actor.is_killed or self.clock.now() > actor.time_limit
        if actor.is_killed or actor.asleep_until <= self.clock.now():
            return True
        rivals = (other for other in self.baton.alive if other.kind == actor.kind and other is not actor)
        return actor.wakes_with_rival and any(rivals)

    def _is_over(self) -> bool:
        if (self._steps if self._phase == "walk" else self.clock.now()) >= self._until:
            return True
        if self.baton.alive or self._is_waiting() or self._will_act():
            return False
        return self._phase == "executors dead" or not undrained(self.tables, self.invariants.committed)

    def _is_waiting(self) -> bool:
        return bool(self.queue.waiting or self.stream or self.webhooks)

    def _let_time_pass(self) -> None:
        """Until something is due. In a calm walk nothing may need the sweep, nor the second copy of a run."""
        runs = self.runs.waiting if self._has_executors() and not self.configuration.calm else []
        due = [
            *(actor.asleep_until for actor in self.baton.alive),
            *(head.visible_at for head in self.queue.heads()),
            *(at for at, _ in self.webhooks),
            *(at for _, at in runs),
            *([self._next_sweep] if self._has_sweep() else []),
            *([self._next_poll] if self._is_polling() else []),
            *([self._next_act] if self._will_act() else []),
        ]
        if self._next_act_step > self._steps and self._will_act():
            due.append(self.clock.now() + 1)
        self._next_act_step = 0
        self.clock.time = min((at for at in due if at > self.clock.now()), default=self.clock.now() + MINUTE)
        if self.clock.now() > NOW + LONGEST:
            self.fail(f"not drained after hours: {undrained(self.tables, self.invariants.committed)}")

    # What begins

    def _arrivals(self) -> Iterator[Callable[[], Actor | None]]:
        now = self.clock.now()
        if self._will_act() and self._next_act <= now and self._next_act_step <= self._steps:
            yield self._act
        yield from (partial(self._repeat_webhook, entry) for entry in self.webhooks if entry[0] <= now)
        if self.stream:
            yield self.process
        yield from (partial(self.receive, head) for head in self.queue.heads() if head.visible_at <= now)
        if self._has_sweep() and self._next_sweep <= now:
            yield self._sweep_now
        if self._has_executors():
            yield from (partial(self._take_run, waiting) for waiting in self.runs.waiting if waiting[1] <= now)
        if self._is_polling() and self._next_poll <= now:
            yield self._poll
        if self._faults.get("press") and (questions := self._pressable()):
            yield partial(self._press, questions)

    def _has_sweep(self) -> bool:
        return self._phase != "executors dead" and not self.configuration.calm

    def _has_executors(self) -> bool:
        return self._phase == "walk" or (self._phase == "rest" and self.configuration.executors)

    def _is_polling(self) -> bool:
        """Whether a process of the machine would find a turn or a result on its disk, and there may be one more."""
        if self._phase == "executors dead" or (self._phase == "rest" and not self.configuration.machine_stays):
            return False
        processes = sum(actor.kind == "runner" for actor in self.baton.alive)
        has_work = self.machine.spool is not None or self.tables.has_pointers(self.clock.now())
        return processes < self.configuration.runners and has_work

    def _poll(self) -> Actor:
        self._next_poll = self.clock.now() + (SECOND if self.configuration.calm else 10 * SECOND)
        return self.runner()

    def _pressable(self) -> list[str]:
        turn = self.tables.look(f"SESSION#{SESSION}", "META").get("turn", {}).get("id")
        asked = self.tables.questions()
        return [one for one in asked if f".{turn}." not in one] if self.configuration.patient else asked

    def _press(self, questions: Sequence[str]) -> Actor:
        self._faults["press"] -= 1
        return self.press(f"{self._random.choice(questions)}.{self._random.randrange(2)}")

    def _repeat_webhook(self, entry: tuple[int, str]) -> Actor:
        self.webhooks.remove(entry)
        return self.webhook(entry[1])

    def _sweep_now(self) -> Actor | None:
        self._next_poll = 0
        self._next_sweep = self.clock.now() + MINUTE
        return self.sweep()

    def _take_run(self, waiting: tuple[RunMessage, int]) -> Actor | None:
        run, _ = waiting
        self.runs.waiting.remove(waiting)
        if self._may("hidden", 0.4):
            self.trace.note("Runs", "HIDES", run.session_id)
            self.runs.waiting.append((run, self.clock.now() + HOUR))
            return None
        if self._may("copy", 0.5):
            self.trace.note("Runs", "COPIES", run.session_id)
            self.runs.waiting.append((run, self.clock.now() + self._random.choice((0, 0, 5 * SECOND, 100 * SECOND))))
        return self.execute(run)

    # What the person does

    def _shuffled_acts(self) -> list[str]:
        config = self.configuration
        acts = (
            ["say"] * config.messages + ["file"] * config.files + ["/queue"] * config.queues + ["/stop"] * config.stops
        )
        acts += ["resume"] * config.resumes + [f"/resume {SESSION}"] * config.brings
        acts += ["/handoff chat"] * config.moves
        acts += ["/model opus"] * config.orders
        acts += ["/cloud"] * config.clouds + ["/machine"] * config.machines + ["revoke"] * config.revokes
        self._random.shuffle(acts)
        return acts + ["again"] * config.late_copies

    def _will_act(self) -> bool:
        """Whether the person will do more. In a thread, that begins once there is one."""
        if not self._acts or self._phase not in ("walk", "rest"):
            return False
        if self._phase == "rest":  # `/cloud`, where the session lives
            return bool(self.tables.look(f"SESSION#{SESSION}", "META")["owner"] == THREAD.route)
        return not self.configuration.kickoff or bool(self.platform.threads) or self._acts[0] == "resume"

    def _act(self) -> Actor:
        """Most acts follow soon, so that they meet something at work; others when all is quiet."""
        act = self._acts.pop(0)
        is_soon = self.configuration.calm or self._random.random() < 0.7
        self._next_act_step = self._steps + (self._random.randrange(40) if is_soon else 0)
        self._next_act = self.clock.now() + (0 if is_soon else self._random.choice(PAUSES))
        if act == "resume":
            return self.resume()
        if act == "revoke":
            return self.revoke()
        if act == "again":
            return self.webhook(self._random.choice(self._said))
        words = f"words {len(self._said)}"
        text = {"say": words, "file": words, "/queue": f"/queue {words}"}.get(act, act)
        beside = ""
        if act == "file":
            name = f"{len(self._said)}.log"
            self.platform.files[name] = name.encode()
            beside = f"||file:file:{name}"
        self._said.append(f"e{len(self._said):03}|t1|{text}{beside}")
        self.trace.note("person", self._said[-1])
        return self.webhook(self._said[-1])

    # Faults

    def plan(self, actor: Actor) -> None:
        if self._phase == "rest" and actor.kind in ("turn", "agent"):
            self._runs_at_rest += 1
            if self._runs_at_rest > MOST_RUNS_AT_REST * self._looks():
                self.fail("a loop: too many runs at rest")
        if self._only_kills_runs and self._faults.get("crash"):
            is_run = actor.kind in ("agent", "runner")
            actor.fault = (
                (self._random.randrange(2, 16 if self.configuration.runners else 8), "crash") if is_run else None
            )
            return
        fits = {"crash": True, "conflict": True, "slow": actor.kind == "turn", "nap": actor.kind in NAPPING}
        possible = [fault for fault, left in self._faults.items() if left and fits.get(fault)]
        if possible and self._random.random() < 0.6:
            actor.fault = self._random.randrange(12), self._random.choice(possible)

    def _looks(self) -> int:
        """How many times as often a place is looked at where something is waited for that sends no message."""
        return 1 + (self.configuration.moves > 0) + self.configuration.files

    def _meet_fault(self, actor: Actor) -> None:
        if self._meets(actor, "crash"):
            self.trace.note(actor.name, "KILLED")
            actor.is_killed = True
        elif self._meets(actor, "nap") or self._meets(actor, "slow"):
            actor.asleep_until = self.clock.now() + self._random.randrange(2 * TURN_LEASE)
            actor.time_limit = actor.asleep_until + HOUR
            actor.wakes_with_rival = self._random.random() < 0.5
            self.trace.note(actor.name, "SLEEPS")

    def _meets(self, actor: Actor, fault: str) -> bool:
        if actor.fault is None or actor.fault[1] != fault or actor.fault[0] > actor.steps:
            return False
        actor.fault = None
        return self._may(fault, 1.0)

    def _may(self, fault: str, chance: float) -> bool:
        """Use up a fault of this kind, if one is left."""
        if self._phase != "walk" or not self._faults.get(fault) or self._random.random() >= chance:
            return False
        self._faults[fault] -= 1
        return True

    # Phases

    def _let(self, phase: str, *, steps: int = 0, time: int = 0) -> None:
        self._phase = phase
        self._until = self._steps + steps if steps else self.clock.now() + time
        self.trace.note("walk", phase)
        self.baton.run()
        if self.failure:
            raise Failure(self, self.failure)

    def _time_to_rest(self) -> int:
        if self.configuration.calm:
            return REST_IF_CALM + (int(LONGEST_WAIT * SECOND) if self.configuration.orders else 0)
        if self.configuration.runners and self.configuration.executors:
            return REST_WITH_MACHINE
        return REST if self.configuration.executors else REST_WITHOUT_EXECUTORS

    def _lose_executors(self) -> None:
        """With every executor dead and without the sweep, all messages are taken and all commands answered."""
        for actor in self.baton.alive:
            actor.is_killed = actor.is_killed or actor.kind in ("agent", "sweep", "runner")
        files = LONGEST_READ if self.configuration.files else 0
        self._let("executors dead", time=PLACE_REST + files)
        commands = [line.split("|")[0] for line in self._said if line.endswith(("/stop", "/cloud", "/machine"))]
        rows = [self.tables.look(f"INBOX#{THREAD.route}", event_id) for event_id in commands]
        unanswered = [row["sk"] for row in rows if row.get("status") == "new"]
        # A `/handoff` waits for its confirmation in a line of its own, an order for its machine, files for their read.
        blocked = [one for one in self.queue.waiting if not one.line.startswith(("handoff ", "model ", "ready "))]
        if blocked or unanswered:
            raise Failure(self, f"the place is blocked: {blocked}, commands {unanswered}")

    def _check_end(self) -> None:
        left = undrained(self.tables, self.invariants.committed)
        if left or self._is_waiting():
            raise Failure(self, f"not drained: {left}, {self.queue.waiting}")
        try:
            check_end(self.tables, self.platform, self.invariants.committed, endings=self._endings())
            check_sent(self.platform, self.machine.sent)
        except Violation as violation:
            raise Failure(self, str(violation)) from None

    def _endings(self) -> set[str]:
        """How rows may end that no turn answers."""
        config = self.configuration
        return {
            *(["command"] if config.stops or config.brings or config.runners or config.moves else []),
            *(["stopped"] if config.stops else []),
            *(["moved"] if config.brings or config.moves else []),
            *(["told"] if config.resumes or config.kickoff or config.moves else []),
        }

    def _end_all(self) -> None:
        self._phase = "end"
        for actor in self.baton.alive:
            actor.is_killed = True
        self.baton.run()


def _itself(actor: Actor) -> Actor:
    return actor


if __name__ == "__main__":
    with Workers() as threads:
        kinds = {f"with_{kind}": kind in sys.argv[2:] for kind in ("machine", "choices", "orders", "files", "sends")}
        walk = Walk(int(sys.argv[1]), threads, **kinds)
        walk.run()
    sys.stdout.write("\n".join(walk.trace.lines()) + "\n")
