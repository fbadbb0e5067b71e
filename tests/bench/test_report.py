"""The report of `make bench`: what was measured is in it, what was not is left out, and a slow figure is only a figure."""

import itertools
from xml.etree.ElementTree import fromstring

from bench.chart import Bar, draw
from bench.figures import Figures, p50, p95
from bench.polling import GAP, INTERVAL, REQUESTS
from bench.report import table


def figures(**values: float) -> Figures:
    found = Figures()
    for name, value in values.items():
        found.note(name.replace("_", " "), value)
    return found


def test_a_slow_figure_is_shown_as_not_reached() -> None:
    slow, quick = table(figures(ready=2.5)), table(figures(ready=1.5))

    assert "| start until ready | 2.50 s | 2 s | no |" in slow
    assert "| start until ready | 1.50 s | 2 s | yes |" in quick


def test_each_figure_has_the_pace_of_the_machine_beside_it() -> None:
    found = figures(ready=0.5, memory_idle=90.0)
    found.paces = {"ready": 0.006, "memory idle": 0.004}
    ready, memory = table(found).splitlines()[2:]

    assert ready.endswith("| 1.50 |")
    assert memory.endswith("| 1.00 |")


def test_what_was_not_measured_is_left_out() -> None:
    shown = table(figures(polling_p50=1.0, polling_p95=2.0))

    assert len(shown.splitlines()) == 3
    assert "1000 ms / 2000 ms" in shown


def test_ratios_are_of_one_run() -> None:
    assert "| 1/50 | 1/30 | yes |" in table(figures(polling_p50=1.0, polling_p95=2.0, one_p50=0.02, one_p95=0.03))


def test_percentiles_are_values_that_were_measured() -> None:
    assert (p50([3.0, 1.0, 2.0]), p95([float(n) for n in range(1, 21)]), p95([7.0])) == (2.0, 19.0, 7.0)


def test_the_chart_is_well_formed_and_escaped() -> None:
    root = fromstring(draw("a < b", [Bar("one & two", 0.02, 0.03), Bar("slow", 1.0, 2.0)]))  # noqa: S314  # our own text
    texts = [element.text for element in root.iter()]

    assert "one & two" in texts
    assert "20 ms / 30 ms" in texts
    assert "1.00 s / 2.00 s" in texts


def test_requests_fall_evenly_on_the_interval() -> None:
    phases = sorted(number * GAP % INTERVAL for number in range(REQUESTS))
    gaps = [later - earlier for earlier, later in itertools.pairwise(phases)]

    assert max(gaps) < 3 * INTERVAL / REQUESTS
