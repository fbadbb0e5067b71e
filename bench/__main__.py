"""`make bench`: run all benchmarks and print one table for each."""

import sys

from bench import handoffs, start_up


def main() -> int:
    """Run the benchmarks named on the command line, or all of them."""
    benchmarks = {"start_up": start_up.run, "handoffs": handoffs.run}
    for name in sys.argv[1:] or benchmarks:
        print(f"\n{name}")
        for label, value in benchmarks[name]():
            print(f"  {label:<58} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
