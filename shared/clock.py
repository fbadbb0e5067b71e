"""The system clock."""

import time


class SystemClock:
    """The `Clock` port."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000
