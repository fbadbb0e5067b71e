"""Text from outside, made fit to be stored and sent on."""

MAX_TEXT = 60_000
"""Characters of one message of a person; no chat platform sends longer ones."""


def whole(text: str) -> str:
    """The text as valid Unicode: a surrogate pair becomes its character, and half of one is replaced.

    UTF-8, and so a database, a queue and most platforms, cannot hold half a pair. JSON can: a program that cuts a text in
    the middle of an emoji sends it as `\\ud83d`.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
