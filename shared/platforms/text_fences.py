"""Code fences in Markdown: where they open and close, also inside quotes and lists."""

import re
from dataclasses import dataclass

# A fence may stand in quotes and lists: `> - ```py`. Behind backticks no backtick follows, or it is inline code.
_CONTAINERS = r"(?P<containers>[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*)"
_OPENING = re.compile(_CONTAINERS + r"(?P<run>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_DEEPEST = 24
_LONGEST_LANGUAGE = 24


@dataclass(frozen=True)
class Fence:
    """An open code fence: what its lines begin with, its run of backticks or tildes, and what stands behind the run."""

    containers: str
    run: str
    info: str

    @classmethod
    def opened_by(cls, text: str, at: int = 0) -> "Fence | None":
        """The fence that the line beginning at `at` opens, if it does."""
        match = _OPENING.match(text, at)
        if match is None or len(match["containers"]) > _DEEPEST:
            return None
        # Later lines continue a list item by its width, and a quote by its own marker.
        return cls(re.sub(r"[^\s>]", " ", match["containers"]), match["run"], match["info"].strip())

    @property
    def closer(self) -> str:
        return self.containers + self.run

    @property
    def language(self) -> str:
        first = self.info.split(" ")[0]
        return first if len(first) <= _LONGEST_LANGUAGE else ""

    def holds(self, line: str) -> bool:
        """Whether the line is still inside the quote that the fence stands in."""
        margin = line[: len(line) - len(line.lstrip(" \t>"))]
        return margin.count(">") >= self.containers.count(">")

    def closed_by(self, line: str) -> bool:
        rest = without_containers(line, self.containers).rstrip()
        inner = rest.lstrip(" ")
        return len(rest) - len(inner) <= 3 and len(inner) >= len(self.run) and not inner.strip(self.run[0])


def without_containers(line: str, containers: str) -> str:
    """The line without the quote markers and the indentation of the containers that it stands in."""
    for _ in range(containers.count(">")):
        line = re.sub(r"^[ \t]*>", "", line, count=1)
    indent = len(containers) - containers.rfind(">") - 1
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]


def well_formed(text: str, longest: int) -> str:
    """The text with every fence closed by a line of its own, and no fence line over `longest`.

    Only line ends and odd fences change: one that its quote or the text leaves open is closed; what is too long to be
    repeated moves from behind the run to the next line, and a run that is too long is shortened.
    """
    lines: list[str] = []
    fence: Fence | None = None
    for line in re.sub(r"\r\n?", "\n", text).split("\n"):
        if fence is not None and not fence.holds(line):
            lines.append(fence.closer)
            fence = None
        if fence is None:
            opening = _shortened(line, longest)
            fence = Fence.opened_by(opening[0])
            lines.extend(opening)
        elif fence.closed_by(line):
            lines.append(line if len(line) <= longest else fence.closer)
            fence = None
        else:
            lines.append(line)
    if fence is not None:
        lines.append(fence.closer)
    return "\n".join(lines)


def _shortened(line: str, longest: int) -> list[str]:
    fence = Fence.opened_by(line) if len(line) > longest else None
    if fence is None:
        return [line]
    margin = line[: len(fence.containers)]
    return [
        margin + fence.run[: max(3, longest - len(margin))],
        *([fence.containers + fence.info] if fence.info else []),
    ]
