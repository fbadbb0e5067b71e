"""The day for people: as lines for a terminal, and as the tables of docs/scale.md."""

from collections.abc import Iterator
from pathlib import Path

from bench.scale.counted import processor_seconds
from bench.scale.day import Day, month, play, until
from bench.scale.limits import Settings
from bench.scale.units import CALL_SECONDS, HANDOFF, PROCESSOR, run_seconds

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
BEGIN, END = "<!-- written by `make scale` -->\n", "<!-- end -->\n"
RAISED = {
    "MaxConcurrentTurns": 1_000,
    "MaxConcurrentPlaces": 1_000,
    "ParallelHandoffs": 10,
    "OpenRouteRate": 1_000,
    "ClosedRouteRate": 1_000,
    "MaxTableReads": 40_000,
    "MaxTableWrites": 40_000,
}
"""As far as the template and the usual quotas of AWS let one stack go, with a concurrency of 10,000."""
CONCURRENCY = 10_000


def raised() -> Settings:
    return Settings(given=RAISED, concurrency=CONCURRENCY)


def tables(template: Settings | None = None) -> str:
    """Markdown: each limit with the messages a day that it holds, and the bill. Equal code and template give equal text."""
    return "\n".join(_tables(template or Settings())) + "\n"


def _tables(template: Settings) -> Iterator[str]:
    day = Day()
    plain = {limit.name: (limit, count) for limit, count in until(day, template)}
    yield "| resource | needs at peak | has, as the template is → raised | full at messages a day | set by |"
    yield "| --- | --- | --- | --- | --- |"
    for limit, count in until(day, raised()):
        first, holds = plain[limit.name]
        has = _change(f"{first.has:,.0f}", f"{limit.has:,.0f}")
        yield f"| {limit.name} | {limit.needs:,.0f} | {has} | {_change(_short(holds), _short(count))} | {limit.set_by} |"
    bill = month(day)
    yield ""
    yield "| a month of such days | dollars |"
    yield "| --- | --- |"
    yield from (f"| {item.what} | {item.amount:,.0f} |" for item in bill)
    yield f"| **together** | **{sum(item.amount for item in bill):,.0f}** |"


def lines(measured: float | None = None) -> Iterator[str]:
    """What `make bench` prints; `measured` are the seconds of a handoff as on AWS in the same run."""
    for outcome in play(Day(), Settings())[:6]:
        limit = outcome.at_peak
        after = (
            f"waits {outcome.longest / 3600:,.0f} h" if limit.beyond == "waits" else f"{outcome.refused:.0%} refused"
        )
        yield f"{limit.name}: needs {limit.needs:,.0f}, has {limit.has:,.0f} ({limit.set_by}): {after}"
    bots = max(limit.use for limit, _ in until(Day(), raised()))
    yield f"stacks, each raised and with its own bots, that the day needs: {bots:,.0f}"
    for name, found in processor_seconds().items():
        yield f"{name}: the model has {PROCESSOR[name] * 1000:.2f} ms of processor, measured here {found * 1000:.2f} ms"
    whole = sum(seconds for name, seconds in run_seconds(HANDOFF, agent=0).items() if name != "status")
    beside = f", measured here {measured * 1000:.0f} ms" if measured else ""
    calls = HANDOFF.calls * CALL_SECONDS
    yield f"one handoff, instant agent: the model has {whole * 1000:.0f} ms, {calls:.1f} s of it calls to the platform{beside}"


def write() -> Path:
    """Renew the tables of docs/scale.md."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}")
    return PAGE


def _change(first: str, then: str) -> str:
    return first if first == then else f"{first} → {then}"


def _short(count: float) -> str:
    if count >= 1e6:
        return f"{count / 1e6:,.1f} million"
    return f"{count:,.0f}" if count < 1e4 else f"{count / 1e3:,.0f} thousand"
