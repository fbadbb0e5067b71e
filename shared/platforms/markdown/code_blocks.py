"""Code blocks in Markdown: where they open and close, also inside quotes and lists."""

import re
from dataclasses import dataclass

# A code block may be inside quotes and lists: `> - ```py`. With another backtick after the run it is inline code.
_CONTAINERS = r"(?P<containers>[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*)"
_OPENING = re.compile(_CONTAINERS + r"(?P<run>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_DEEPEST = 24
_LONGEST_LANGUAGE = 24


@dataclass(frozen=True)
class CodeBlock:
    """An open code block: the prefix of its lines, its run of backticks or tildes, and the info text after the run."""

    containers: str
    run: str
    info: str

    @classmethod
    def opened_by(cls, text: str, at: int = 0) -> "CodeBlock | None":
        """The code block that the line beginning at `at` opens, if it does."""
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
        """Whether the line is still inside the quote that contains the code block."""
        margin = line[: len(line) - len(line.lstrip(" \t>"))]
        return margin.count(">") >= self.containers.count(">")

    def closed_by(self, line: str) -> bool:
        rest = without_containers(line, self.containers).rstrip()
        inner = rest.lstrip(" ")
        return len(rest) - len(inner) <= 3 and len(inner) >= len(self.run) and not inner.strip(self.run[0])


def without_containers(line: str, containers: str) -> str:
    """The line without the quote markers and the indentation of its containers."""
    line = _without_quotes(line, containers)
    return line[min(_indent(containers), len(line) - len(line.lstrip(" \t"))) :]


def well_formed(text: str, longest: int) -> str:
    """The text with every code block closed by a separate line, its lines inside their containers, none over `longest`.

    Only line ends and odd code blocks change: one that its quote or the text leaves open is closed; lines that are not
    indented in a list's code block are indented; what is too long to be repeated moves from behind the run to the next line.
    """
    lines = re.sub(r"\r\n?", "\n", text).split("\n")
    formed: list[str] = []
    at = 0
    while at < len(lines):
        opening = _shortened(lines[at], longest)
        formed += opening
        at += 1
        if (code := CodeBlock.opened_by(opening[0])) is not None:
            end = next(
                (n for n in range(at, len(lines)) if not code.holds(lines[n]) or code.closed_by(lines[n])), len(lines)
            )
            is_closed = end < len(lines) and code.holds(lines[end])
            closing = lines[end : end + 1] if is_closed and len(lines[end]) <= longest else []
            formed += _contained(lines[at:end] + closing, code.containers)
            formed += [] if closing else [code.closer]
            at = end + is_closed
    return "\n".join(formed)


def _contained(lines: list[str], containers: str) -> list[str]:
    bare = [_without_quotes(line, containers) for line in lines]
    if all(not line.strip() or len(line) - len(line.lstrip(" \t")) >= _indent(containers) for line in bare):
        return lines
    return [(containers + line.removeprefix(" " * (">" in containers))).rstrip(" ") for line in bare]


def _without_quotes(line: str, containers: str) -> str:
    for _ in range(containers.count(">")):
        line = re.sub(r"^[ \t]*>", "", line, count=1)
    return line


def _indent(containers: str) -> int:
    return len(containers) - containers.rfind(">") - 1


def _shortened(line: str, longest: int) -> list[str]:
    code = CodeBlock.opened_by(line) if len(line) > longest else None
    if code is None:
        return [line]
    margin = line[: len(code.containers)]
    return [
        margin + code.run[: max(3, longest - len(margin))],
        *([code.containers + code.info] if code.info else []),
    ]
