"""The time of day."""

import time


class SystemClock:
    """The `Clock` port on the machine's own clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000
