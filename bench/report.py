"""The figures of a run as a table for people, with what was aimed at, and as docs/speed.md."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.chart import Bar, draw
from bench.figures import Figures, machine

DOCS = Path(__file__).resolve().parent.parent / "docs"
INTRODUCTION = """\
# Speed

Written by `make bench ARGS=--write`. The figures are of one run on one machine, and ratios of figures are of that run. Other
load on the machine makes all of them worse, and so does a virtual machine's processor that is slow for some minutes, so each has
the load average and the pace beside it. No test asserts one of them.

![Request to completed](speed.svg)
"""
METHOD = """\
## How it is measured

- **One machine** is `handoff up` (`local/server`) as a separate program, with the packages that an installation has and none of
  the tests'. Chats are simulated in another process and reached through the platforms' real SDKs. A client requests a handoff
  and follows it with `?wait=`, as the CLI does; the time ends with the answer that says `completed`. The agent is the rehearsal
  agent, which answers at once or after 3 s.
- **As on AWS** is `make run`: the template with its functions in runtime processes on simulated AWS services. Its clients ask
  every 5 ms.
- **Polling** is a loop in `bench/polling.py` that looks for pending rows every 2 s and works on all that it finds at the same
  time, with the same SDK, agent and chats. Its clients learn of the end at once, and requests fall evenly on the phases of the
  interval.
- **100 at once** is the median of three bursts, **ready** that of five starts.
- **Platform latency** delays every call to the platform in the simulator.
- **Ready** is when every call answers: `/health`, and `GET /platforms`, which needs a token, the database
  and the settings of the platforms.
- **The first handoff** comes 3 s after the start, when the SDKs are loaded. One that is requested at the moment in which the
  service is ready loads the SDK itself.
- **Modules** are the files below functions, shared, local and cli, without the simulated chats, whose functions are called from
  the request to `completed`, or for `GET /handoffs/{id}`, in each of three runs: a sweep may run beside one of them. Classes
  that only hold data have no functions of their own and do not count. `bench/modules.py` lists them by folder.
- **Your own agent** is the real Claude Code or Codex with its adapter, behind `handoff run`, on a model on loopback that answers
  at once. Where they are not installed (`tests/real_agents/install`) it is skipped. The time of a message ends when the reply
  stands in the thread, that of a handoff when the service has completed it; a plain start is `claude -p --resume` or
  `codex exec resume` with a few words.
- **The large file** is compared with an empty one on two services that run at the same time, one handoff on each in turn.
"""


@dataclass(frozen=True)
class Row:
    """One line of the table. `needs` are the figures that it shows; without them it is left out."""

    label: str
    needs: Sequence[str]
    shown: Callable[[Figures], str]
    target: str = ""
    is_reached: Callable[[Figures], bool] | None = None


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def _at_once(name: str, count: int) -> Callable[[Figures], str]:
    return lambda f: f"{f[f'{name} completed']:.0f} of {count} in {f[name]:.1f} s"


def _of_agent(agent: str, title: str) -> tuple[Row, ...]:
    """The user's own agent: medians of one run."""
    names = (f"{agent} open", f"{agent} warm", f"{agent} cold", f"{agent} handoff", f"{agent} plain")
    in_acp, warm, cold, handoff, plain = names
    return (
        Row(
            f"{title} in a thread: message to reply, open / cold, and a prompt in an open ACP process",
            (in_acp, warm, cold),
            lambda f: f"{f[warm]:.2f} s / {f[cold]:.2f} s, {f[in_acp]:.2f} s",
            "0.5 s over that prompt, 1/4 of cold",
            lambda f: f[warm] <= f[in_acp] + 0.5 and f[warm] <= f[cold] / 4,
        ),
        Row(
            f"{title}: handoff to completed, and a plain start with words",
            (handoff, plain),
            lambda f: f"{f[handoff]:.2f} s, {f[plain]:.2f} s",
            "1.5 s over a plain start",
            lambda f: f[handoff] <= f[plain] + 1.5,
        ),
    )


ROWS = (
    Row(
        "one handoff on one machine, p50 / p95",
        ("one p50", "one p95"),
        lambda f: f"{_ms(f['one p50'])} / {_ms(f['one p95'])}",
        "35 ms",
        lambda f: f["one p50"] <= 0.035,
    ),
    Row(
        "the same as on AWS, p50 / p95", ("aws p50", "aws p95"), lambda f: f"{_ms(f['aws p50'])} / {_ms(f['aws p95'])}"
    ),
    Row(
        "polling every 2 s, p50 / p95",
        ("polling p50", "polling p95"),
        lambda f: f"{_ms(f['polling p50'])} / {_ms(f['polling p95'])}",
    ),
    Row(
        "one machine against polling, p50",
        ("polling p50", "one p50"),
        lambda f: f"1/{f['polling p50'] / f['one p50']:.0f}",
        "1/30",
        lambda f: f["polling p50"] / f["one p50"] >= 30,
    ),
    Row("processor time of one handoff", ("one cpu",), lambda f: _ms(f["one cpu"])),
    Row(
        "100 at once, 3 s agents",
        ("100", "100 completed"),
        _at_once("100", 100),
        "8 s",
        lambda f: f["100"] <= 8 and f["100 completed"] == 100,
    ),
    Row(
        "100 at once, 3 s agents, 0.3 s platform latency",
        ("100 slow", "100 slow completed"),
        _at_once("100 slow", 100),
        "9 s",
        lambda f: f["100 slow"] <= 9 and f["100 slow completed"] == 100,
    ),
    Row(
        "500 at once, 3 s agents, four platforms",
        ("500", "500 completed"),
        _at_once("500", 500),
        "all",
        lambda f: f["500 completed"] == 500,
    ),
    Row("10 at once as on AWS, 3 s agents", ("aws 10",), lambda f: f"{f['aws 10']:.1f} s"),
    Row("start until ready", ("ready",), lambda f: f"{f['ready']:.2f} s", "2 s", lambda f: f["ready"] <= 2),
    Row(
        "first handoff after a start, against the next ones",
        ("first", "one p50"),
        lambda f: f"{f['first'] / f['one p50']:.1f} × ({_ms(f['first'])})",
        "3 ×",
        lambda f: f["first"] <= 3 * f["one p50"],
    ),
    Row("a handoff requested when it is just ready", ("first at once",), lambda f: _ms(f["first at once"])),
    Row("memory, idle with all SDKs loaded", ("memory idle",), lambda f: f"{f['memory idle']:.0f} MB"),
    Row(
        "memory with all SDKs used, one handoff at a time",
        ("memory used",),
        lambda f: f"{f['memory used']:.0f} MB",
        "150 MB",
        lambda f: f["memory used"] <= 150,
    ),
    Row("memory while 500 run at once", ("memory at most",), lambda f: f"{f['memory at most']:.0f} MB"),
    Row(
        "memory 30 s after 1,100 handoffs in such bursts",
        ("memory loaded",),
        lambda f: f"{f['memory loaded']:.0f} MB",
        "150 MB",
        lambda f: f["memory loaded"] <= 150,
    ),
    Row(
        "one handoff in a large file, against an empty one",
        ("large ratio", "large sessions", "large messages"),
        lambda f: (
            f"{f['large ratio']:.2f} × ({f['large sessions']:,.0f} sessions, {f['large messages']:,.0f} messages)"
        ),
        "1.1 ×",
        lambda f: f["large ratio"] <= 1.1,
    ),
    Row(
        "the slowest function to load, against boto3 and one client",
        ("load worst",),
        lambda f: f"{f['load worst']:.2f} ×",
        "2 ×",
        lambda f: f["load worst"] <= 2,
    ),
    Row(
        "webhook, cold, until Slack has its answer",
        ("webhook cold", "webhook cold ratio", "webhook on lambda"),
        lambda f: (
            f"{f['webhook cold']:.2f} s here, {f['webhook cold ratio']:.1f} × boto3 and one client; "
            f"about {f['webhook on lambda']:.1f} s with Lambda's share of a processor"
        ),
        "2 s there",
        lambda f: f["webhook on lambda"] <= 2,
    ),
    Row(
        "own modules that one handoff / one status poll enters",
        ("modules handoff", "modules poll"),
        lambda f: f"{f['modules handoff']:.0f} / {f['modules poll']:.0f}",
        "90 / 25",
        lambda f: f["modules handoff"] <= 90 and f["modules poll"] <= 25,
    ),
    Row("its processor time, against an empty one", ("large cpu ratio",), lambda f: f"{f['large cpu ratio']:.2f} ×"),
    *_of_agent("claude-code", "Claude Code"),
    *_of_agent("codex", "Codex"),
)


def table(figures: Figures) -> str:
    """As Markdown, which is readable in a terminal, too."""
    return "\n".join(_lines(figures))


def _lines(figures: Figures) -> Iterator[str]:
    fastest = min(figures.paces.values(), default=1.0)
    yield "| what | measured | aimed at | reached | load | pace |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in ROWS:
        if all(name in figures for name in row.needs):
            reached = "" if row.is_reached is None else "yes" if row.is_reached(figures) else "no"
            load = max(figures.loads[name] for name in row.needs)
            slower = max(figures.paces[name] for name in row.needs) / fastest
            yield f"| {row.label} | {row.shown(figures)} | {row.target} | {reached} | {load:.1f} | {slower:.2f} |"


def write(figures: Figures) -> list[Path]:
    """Renew docs/speed.md and docs/speed.svg with what was measured in this run."""
    day = datetime.now(UTC).date().isoformat()
    fastest, slowest = min(figures.paces.values()) * 1000, max(figures.paces.values()) * 1000
    where = (
        f"{day}, {machine()}. {os.cpu_count()} cores are busy at a load of {os.cpu_count()}. The pace is the time of a fixed "
        f"piece of Python beside each figure, which took from {fastest:.1f} ms (1.00) to {slowest:.1f} ms in this run."
    )
    page, picture = DOCS / "speed.md", DOCS / "speed.svg"
    page.write_text("\n".join([INTRODUCTION, where, "", table(figures), "", METHOD]))
    picture.write_text(draw("Request to completed, instant agent", _bars(figures)))
    return [page, picture]


def _bars(figures: Figures) -> list[Bar]:
    named = (("polling", "polling every 2 s"), ("aws", "as on AWS"), ("one", "one machine"))
    return [
        Bar(label, figures[f"{name} p50"], figures[f"{name} p95"])
        for name, label in named
        if f"{name} p50" in figures and f"{name} p95" in figures
    ]
