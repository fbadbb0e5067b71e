"""`make bench`: run all benchmarks, or those that are named; `--write` renews docs/speed.md and docs/speed.svg."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from bench import cold_start, handoffs, modules, one_machine, own_agent, polling, report, start_up
from bench.figures import Figures, machine
from bench.scale.report import lines

Benchmark = Callable[[Figures], Iterator[str]]


def main() -> int:
    """Fails if a benchmark cannot be run, never because of a slow figure."""
    options = _parser().parse_args()
    figures = Figures()
    benchmarks: Mapping[str, Benchmark] = {
        "polling": polling.run,
        "one_machine": one_machine.run,
        "large_file": partial(one_machine.run_large, is_full=options.full),
        "aws": handoffs.run,
        "start_up": start_up.run,
        "cold_start": cold_start.run,
        "modules": modules.run,
        "own_agent": own_agent.run,
        "scale": lambda measured: lines(measured.values.get("aws p50")),
    }
    print(machine())
    has_failed = False
    for name in options.benchmarks or benchmarks:
        print(f"\n{name}   (load average {os.getloadavg()[0]:.1f})", flush=True)
        try:
            for line in benchmarks[name](figures):
                print(f"  {line}", flush=True)
        except Exception as error:  # noqa: BLE001  # what others measure is still of use
            print(f"  failed: {type(error).__name__}: {error}", flush=True)
            has_failed = True
    print("\n" + report.table(figures))
    if options.write:
        print("written: " + ", ".join(str(path.relative_to(Path.cwd())) for path in report.write(figures)))
    return int(has_failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    names = ("polling", "one_machine", "large_file", "aws", "start_up", "cold_start", "modules", "own_agent", "scale")
    parser.add_argument("benchmarks", nargs="*", choices=[[], *names], metavar="NAME", help=", ".join(names))
    parser.add_argument("--full", action="store_true", help="a large file of 1,000,000 messages instead of 100,000")
    parser.add_argument("--write", action="store_true", help="write docs/speed.md and docs/speed.svg")
    return parser


if __name__ == "__main__":
    sys.exit(main())
