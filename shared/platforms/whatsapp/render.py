"""Adapts an agent's Markdown to WhatsApp: one star for bold, no headings, plain links, one kind of code block."""

import re

from shared.platforms.markdown.code_blocks import CodeBlock

_CODE_MARKS = "```"
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
    code: CodeBlock | None = None
    for line in markdown.split("\n"):
        if code is not None and not code.holds(line):
            code = None
        if code is not None:
            closed = code.closed_by(line)
            written.append(code.containers + _CODE_MARKS if closed else line)
            code = None if closed else code
        elif opened := CodeBlock.opened_by(line):
            written += _opening(line[: len(opened.containers)], opened)
            code = opened
        else:
            written.append(_line(line))
    return "\n".join(written)


def _opening(margin: str, code: CodeBlock) -> list[str]:
    """WhatsApp knows no languages of code; what is more than the name of one stays, as code."""
    return [margin + _CODE_MARKS] if " " not in code.info else [margin + _CODE_MARKS, code.containers + code.info]


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
