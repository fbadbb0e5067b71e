"""`make bench`: every benchmark, one table each."""

import sys

from bench import handoffs, start_up


def main() -> int:
    """Run those named on the command line, or all."""
    benchmarks = {"start_up": start_up.run, "handoffs": handoffs.run}
    for name in sys.argv[1:] or benchmarks:
        print(f"\n{name}")
        for label, value in benchmarks[name]():
            print(f"  {label:<58} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
