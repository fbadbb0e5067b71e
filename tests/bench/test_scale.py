"""The model of a day: its units are those that the real code needs, its limits those of the template, its page is current."""

import copy
import dataclasses
import re
from typing import Any

import pytest

from bench.scale.counted import Counted
from bench.scale.day import DAY, STEP, Day, month, play, until
from bench.scale.limits import Settings, limits
from bench.scale.report import PAGE, raised, tables
from bench.scale.units import FILE, HANDOFF, MESSAGE, PROCESSOR, SHOWN, Units
from local.operate.deploy import cost
from local.operate.deploy.template import load

TEMPLATE = Settings()


def counted(units: Units) -> dict[str, Any]:
    """What `Counted.found` has of them: the web functions beside the use cases are not run by it."""
    found = dataclasses.asdict(units)
    runs = {name: count for name, count in units.runs.items() if name in PROCESSOR}
    return {name: found[name] for name in ("due", "reads", "tables", "sends", "posts", "calls")} | {"runs": runs}


@pytest.fixture
def code() -> Counted:
    counted = Counted()
    counted.hand_over()
    return counted


def test_a_handoff_needs_what_the_model_says(code: Counted) -> None:
    assert code.found() == counted(HANDOFF)
    assert HANDOFF.writes == cost.HANDOFF_WRITE_UNITS  # counted in tests/contracts/store/test_cost.py


def test_a_message_needs_what_the_model_says(code: Counted) -> None:
    code.say()
    assert code.found() == counted(MESSAGE)
    assert MESSAGE.writes == cost.MESSAGE_WRITE_UNITS


def test_an_update_of_progress_needs_what_the_model_says(code: Counted) -> None:
    code.say(event="0001", shows=2)
    two = code.found()
    code.say(event="0002", shows=3)
    three = code.found()
    more = {name: three[name] - two[name] for name in three if name != "runs"}
    assert more == {name: value for name, value in counted(SHOWN).items() if name != "runs"}
    assert three["runs"]["turn"] - two["runs"]["turn"] == SHOWN.runs["turn"]


def test_a_file_adds_what_the_model_says(code: Counted) -> None:
    code.say(event="0001")
    without = code.found()
    code.say(event="0002", files=1)
    found = code.found()
    more = {name: found[name] - without[name] for name in found if name != "runs"}
    runs = {name: count - without["runs"][name] for name, count in found["runs"].items()}
    assert more == {name: value for name, value in counted(FILE).items() if name != "runs"}
    assert {name: count for name, count in runs.items() if count} == FILE.runs
    assert len(code.world.files.stored) == 1


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("MaxConcurrentTurns", "turns of the agent at once"),
        ("MaxConcurrentPlaces", "places served at once"),
        ("ParallelHandoffs", "new handoffs a second, by the stream"),
        ("OpenRouteRate", "webhooks a second"),
        ("ClosedRouteRate", "requests a second to one route"),
        ("MaxTableReads", "read units a second, sessions"),
        ("MaxTableWrites", "write units a second, sessions"),
    ],
)
def test_a_limit_of_the_template_changes_the_answer(name: str, resource: str) -> None:
    template = copy.deepcopy(load())
    template["Parameters"][name]["Default"] *= 2
    holds = {limit.name: count for limit, count in until(Day(), TEMPLATE)}
    more = {limit.name: count for limit, count in until(Day(), Settings(template))}
    assert more[resource] == pytest.approx(2 * holds[resource])
    assert tables(Settings(template)) != tables()


def test_a_batch_of_the_stream_is_that_of_the_template() -> None:
    template = copy.deepcopy(load())
    (source,) = [one for one in template["Resources"].values() if "ParallelizationFactor" in one["Properties"]]
    source["Properties"]["BatchSize"] *= 2
    more, plain = Settings(template), TEMPLATE
    assert more.batch("ProcessFunction") == 2 * plain.batch("ProcessFunction")


def test_what_fits_waits_for_nothing_and_what_does_not_waits_or_is_refused() -> None:
    for outcome in play(Day(handoffs=50, messages=1_000, files=50), TEMPLATE):
        assert (outcome.longest, outcome.refused) == (0, 0), outcome
    worst = {outcome.at_peak.name: outcome for outcome in play(Day(), TEMPLATE)}
    assert worst["turns of the agent at once"].longest > 1_000 * DAY
    assert 0.5 < worst["webhooks a second"].refused < 1


def test_the_load_of_a_day_is_what_was_asked_for() -> None:
    asked = sum(Day().load(second).messages for second in range(0, DAY, STEP)) * STEP
    assert asked == pytest.approx(20_000_000, rel=0.02)


def test_a_stack_with_its_own_bot_takes_its_part() -> None:
    day = Day().times(0.01)
    alone, three = (
        {limit.name: limit.use for limit in limits(day.peak(), dataclasses.replace(TEMPLATE, stacks=count))}
        for count in (1, 3)
    )
    assert three["posts of one bot (Telegram)"] == pytest.approx(alone["posts of one bot (Telegram)"] / 3)
    assert three["functions at once"] == pytest.approx(alone["functions at once"]), "they share the account's quota"


def test_machines_of_users_take_their_turns_off_the_bill() -> None:
    cloud, own = month(Day()), month(Day(own=1.0))
    assert own[0].amount == 0 < cloud[0].amount
    assert sum(item.amount for item in own) < sum(item.amount for item in cloud) / 3


def test_the_page_is_current() -> None:
    page = PAGE.read_text()
    assert f"\n{tables()}\n" in page, "run: make scale"
    first = next(limit for limit, _ in until(Day(), raised()))
    stacks = int(re.findall(r"The day above needs (\d+) of them", page)[0])
    assert stacks == pytest.approx(first.use, abs=1)


@pytest.mark.parametrize(
    ("resource", "sentence"),
    [
        ("places served at once", "{:.0f} million messages a day, most of them for updates"),
        ("turns of the agent at once", "{:.1f} million messages a day and stack"),
        ("read units a second, sessions", "for reads at {:.0f} million messages a day"),
        ("write units a second, one table", "for writes at {:.0f} million"),
        ("writes to the index of what is due", "at {:.0f} million messages a day. The transcript"),
    ],
)
def test_its_sentences_say_what_its_table_says(resource: str, sentence: str) -> None:
    holds = {limit.name: count for limit, count in until(Day(), raised())}
    assert sentence.format(holds[resource] / 1e6) in " ".join(PAGE.read_text().split())
