"""A handoff's states, its table of transitions, its steps and its reasons."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.handoffs import (
    MAX_REASON,
    OPEN,
    STEP_LABELS,
    TRANSITIONS,
    Handoff,
    Reason,
    State,
    Step,
    Thread,
)
from shared.domain.routes import Place, cli_place

HANDOFF = Handoff(
    id="h-1",
    session_id="s-1",
    user_id="ada",
    platform="telegram",
    target=Place("telegram", "1"),
    origin=cli_place("s-1"),
    request_epoch=0,
    body_hash="b",
    state=State.PENDING,
    deadline=900,
    created_at=1,
    updated_at=1,
)


def test_a_handoff_is_open_while_it_is_pending_or_running() -> None:
    assert {State.PENDING, State.RUNNING} == OPEN


@pytest.mark.parametrize("state", sorted(set(State) - OPEN))
def test_no_transition_leads_out_of_a_terminal_state(state: State) -> None:
    assert [name for name, transition in TRANSITIONS.items() if state in transition.sources] == []


@pytest.mark.parametrize("state", sorted(State))
def test_every_state_can_be_reached_from_a_request(state: State) -> None:
    reached = {State.PENDING}
    for _ in State:
        reached |= {t.target for t in TRANSITIONS.values() if t.target is not None and t.sources & reached}
    assert state in reached


def test_only_a_pending_handoff_is_claimed_or_nudged() -> None:
    assert TRANSITIONS["claim"].sources == TRANSITIONS["nudge"].sources == {State.PENDING}


@pytest.mark.parametrize("name", ["step", "rebind", "back_to_pending"])
def test_what_a_claimant_does_needs_a_running_handoff(name: str) -> None:
    assert TRANSITIONS[name].sources == {State.RUNNING}


def test_the_table_cannot_be_changed_at_run_time() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS["claim"] = TRANSITIONS["fail"]  # type: ignore[index]  # this is the point


@pytest.mark.parametrize("state", sorted(State))
def test_a_handoff_is_open_until_a_final_state(state: State) -> None:
    assert replace(HANDOFF, state=state).is_open is (state in OPEN)


def test_a_handoff_is_bound_even_at_epoch_zero() -> None:
    assert not HANDOFF.is_bound
    assert replace(HANDOFF, bound_epoch=1).is_bound


@given(st.text(max_size=1200))
def test_a_reason_is_cut_at_500_and_says_that_it_was_cut(message: str) -> None:
    kept = Reason("broken", message).message
    assert len(kept) <= MAX_REASON == 500
    assert kept == message if len(message) <= 500 else kept == message[:499] + "…"


def test_the_kickoff_turn_is_the_same_on_every_attempt() -> None:
    assert HANDOFF.kickoff_turn == replace(HANDOFF, fence=7, attempt=3).kickoff_turn
    assert HANDOFF.kickoff_turn != replace(HANDOFF, id="h-2").kickoff_turn


def test_steps_are_shown_in_the_order_in_which_they_happened() -> None:
    steps = {Step.COMPLETED.value: 50, Step.CLAIMED.value: 20, Step.REQUESTED.value: 10, Step.MOVED.value: 30}
    shown = replace(HANDOFF, steps=steps).shown_steps()
    assert [(step["name"], step["at"]) for step in shown] == [
        ("requested", 10),
        ("claimed", 20),
        ("moved", 30),
        ("completed", 50),
    ]
    assert shown[1]["label"] == "picked up"


def test_simultaneous_steps_are_shown_in_protocol_order() -> None:
    shown = replace(HANDOFF, steps=dict.fromkeys(reversed([step.value for step in Step]), 7)).shown_steps()
    assert [step["name"] for step in shown] == [step.value for step in STEP_LABELS]


def test_an_intent_is_journalled_and_not_shown() -> None:
    handoff = replace(HANDOFF, steps={Step.OPENING_THREAD.value: 5})
    assert handoff.has_done(Step.OPENING_THREAD)
    assert not handoff.has_done(Step.THREAD_OPENED)
    assert handoff.shown_steps() == []


def test_every_step_but_the_intent_has_a_label() -> None:
    assert set(Step) - set(STEP_LABELS) == {Step.OPENING_THREAD}


@pytest.mark.parametrize(("place", "thread_id"), [(Place("slack", "C1", "1.2"), "1.2"), (Place("slack", "C1"), "C1")])
def test_a_thread_without_a_thread_is_known_by_its_chat(place: Place, thread_id: str) -> None:
    assert Thread(place, "https://x").id == thread_id
