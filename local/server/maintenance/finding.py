"""One result of a check, as `handoff doctor` shows it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """`ok` is None for what is no failure but worth a look. `fix` is one command, or what to do if there is none."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""

    def shown(self) -> dict[str, Any]:
        found = {"name": self.name, "ok": self.ok, "detail": self.detail}
        return {**found, "fix": self.fix} if self.fix else found
