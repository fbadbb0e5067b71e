"""When another process is worth its start."""

from local.cloud.runtime.pacing import UNKNOWN, Pacing


def learned(*, start: float, run: float) -> Pacing:
    pacing = Pacing()
    pacing.started_in(start)
    pacing.ran_for(run)
    return pacing


def test_quick_answers_are_waited_for_as_long_as_a_start_would_take() -> None:
    assert learned(start=0.6, run=0.01).patience(ahead=9, processes=1, running_for=0) == 0.6


def test_long_line_of_quick_answers_is_worth_a_start() -> None:
    assert learned(start=0.6, run=0.01).patience(ahead=80, processes=1, running_for=0) == 0
    assert learned(start=0.6, run=0.01).patience(ahead=80, processes=4, running_for=0) == 0.6


def test_slow_runs_are_not_waited_for() -> None:
    assert learned(start=0.6, run=3).patience(ahead=0, processes=1, running_for=0) == 0


def test_run_that_already_takes_long_is_not_believed_to_end_soon() -> None:
    assert learned(start=0.6, run=0.01).patience(ahead=0, processes=1, running_for=2) == 0


def test_without_experience_it_waits_a_moment() -> None:
    assert Pacing().patience(ahead=0, processes=1, running_for=0) == UNKNOWN


def test_newer_measurements_weigh_more_than_old_ones() -> None:
    pacing = learned(start=0.6, run=0.01)
    for _ in range(3):
        pacing.ran_for(3)
    assert pacing.patience(ahead=0, processes=1, running_for=0) == 0
