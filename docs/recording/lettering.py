"""How wide words are in the chat's font, near enough to break lines; the picture then sets each line to that width."""

# Advance widths of Helvetica in thousandths of an em; most sans-serif fonts are close to it.
_WIDTHS = {
    **dict.fromkeys("ijl|'", 222),
    **dict.fromkeys(" fItr.,:;!/\\()[]-", 290),
    **dict.fromkeys("Jckszxyv", 500),
    **dict.fromkeys("mM%", 833),
    **dict.fromkeys("wCDHNRUGOQAVBEKPSXY&", 700),
    **dict.fromkeys("W@…—", 970),
}
_OTHERS = 556
_SLACK = 1.03


def width_of(text: str, size: float) -> float:
    """In the units of `size`, rounded to a tenth."""
    return round(sum(_WIDTHS.get(letter, _OTHERS) for letter in text) / 1000 * size * _SLACK, 1)


def broken(text: str, room: float, size: float) -> list[str]:
    """The text in lines no wider than `room`; a word that is wider is cut. Empty lines stay."""
    return [line for paragraph in text.split("\n") for line in _paragraph(paragraph, room, size)]


def newest(text: str, room: float, size: float) -> str:
    """The last words of a text, as many as one line takes: what a person sees of what they are writing."""
    while width_of(text, size) > room and " " in text:
        text = text.partition(" ")[2]
    return text


def _paragraph(text: str, room: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer, size) <= room:
            lines[-1] = longer
            continue
        if width_of(word, size) <= room:
            lines.append(word)
            continue
        for letter in f" {word}" if lines[-1] else word:
            if width_of(lines[-1] + letter, size) > room:
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines]
