"""Adapts an agent's Markdown to WhatsApp: one star for bold, no headings, plain links, one kind of fence."""

import re

from shared.platforms.markdown.fences import Fence

_FENCE = "```"
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t]*#*$")
_INLINE = re.compile(
    r"(?P<code>`+[^`]*`+)"
    r"|\*\*(?=\S)(?P<bold>[^*]+?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<italic>[^*]+?)(?<=\S)\*(?![\w*])"
    r"|~~(?=\S)(?P<struck>[^~]+?)(?<=\S)~~"
    r"|(?<!!)\[(?P<label>[^\[\]]+)\]\((?P<url>https?://[^()\s]+)\)"
)


def for_whatsapp(markdown: str) -> str:
    """The text with markup that WhatsApp shows. Pure; changes only markup."""
    written: list[str] = []
    fence: Fence | None = None
    for line in markdown.split("\n"):
        if fence is not None and not fence.holds(line):
            fence = None
        if fence is not None:
            closed = fence.closed_by(line)
            written.append(fence.containers + _FENCE if closed else line)
            fence = None if closed else fence
        elif opened := Fence.opened_by(line):
            written += _opening(line[: len(opened.containers)], opened)
            fence = opened
        else:
            written.append(_line(line))
    return "\n".join(written)


def _opening(margin: str, fence: Fence) -> list[str]:
    """WhatsApp knows no languages of code; what is more than the name of one stays, as code."""
    return [margin + _FENCE] if " " not in fence.info else [margin + _FENCE, fence.containers + fence.info]


def _line(line: str) -> str:
    if heading := _HEADING.match(line):
        return f"*{heading[1].replace('*', '')}*" if heading[1].strip("*# ") else line
    return _INLINE.sub(_shown, line)


def _shown(match: re.Match[str]) -> str:
    found = match.groupdict()
    if found["bold"] is not None:
        return f"*{found['bold']}*"
    if found["italic"] is not None:
        return f"_{found['italic']}_"
    if found["struck"] is not None:
        return f"~{found['struck']}~"
    if found["label"] is not None:
        return found["url"] if found["label"] == found["url"] else f"{found['label']} ({found['url']})"
    return match[0]
