"""Find and mask likely secrets in a transcript."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from handoff_cli.transcripts.messages import Message

# Every pattern runs in linear time: no look-ahead without a bound.
_KINDS: dict[str, re.Pattern[str]] = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    "AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b"),
    "Slack token": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "Telegram bot token": re.compile(r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    "API key": re.compile(
        r"\b(?:sk|rk|pk)[-_](?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}|\bAIza[A-Za-z0-9_-]{35}\b|\bglpat-[A-Za-z0-9_-]{20,}"
    ),
    "JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "password in a URL": re.compile(r"(?<=://)[^\s/:@\"'<>]+:[^\s/@\"'<>]{3,}(?=@)"),
    "bearer token": re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/-]{20,}=*"),
    "assigned secret": re.compile(
        r"(?i)(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)"
        r"\\?[\"']?\s*[:=]\s*\\?[\"']?(?P<value>(?![\w.]{0,80}[(\[])[^\s\"'\\,;(){}\[\]<>$]{8,})"
    ),
}  # fmt: skip

# A pattern is tried only if the lower-case text contains one of these; most texts contain none.
_NEEDLES: dict[str, tuple[str, ...]] = {
    "private key": ("private key-----",),
    "AWS access key": ("akia", "asia"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "Slack token": ("xox",),
    "Telegram bot token": (":aa",),
    "API key": ("sk-", "sk_", "rk-", "rk_", "pk-", "pk_", "aiza", "glpat-"),
    "JSON web token": (".eyj",),
    "password in a URL": ("://",),
    "bearer token": ("bearer ",),
    "assigned secret": ("password", "passwd", "secret", "token", "key"),
}

_WHOLE = re.compile(r"(?s:.+)")
_BETWEEN_SPECIAL = re.compile(r"[^\s;&|<>()$`\\\"'*?\[\]#~=%!{}]+")


def find(messages: Iterable[Message]) -> dict[str, int]:
    """Number of likely secrets of each kind; each place is counted once."""
    found: Counter[str] = Counter()
    for message in messages:
        _mapped(message, found)
    return dict(found)


def listed(found: Mapping[str, int]) -> str:
    """A result of `find` as text; empty if nothing was found."""
    return ", ".join(f"{count} × {kind}" for kind, count in found.items())


def redact(messages: Iterable[Message]) -> list[Message]:
    """The messages with every likely secret replaced by its kind."""
    return [_mapped(message, Counter()) for message in messages]


def mask_words(text: str) -> tuple[str, bool]:
    """The text with likely secrets masked word by word, and whether there were any.

    A mask replaces no blank, no newline and no character that a shell treats as special: in a command it hides no other.
    """
    found: Counter[str] = Counter()
    return _masked(text, found, _BETWEEN_SPECIAL), bool(found)


def _mapped(value: Any, found: "Counter[str]") -> Any:
    if isinstance(value, str):
        return _masked(value, found)
    if isinstance(value, dict):
        return {key: _mapped(item, found) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, found) for item in value]
    return value


def _masked(text: str, found: "Counter[str]", words: re.Pattern[str] = _WHOLE) -> str:
    """Each match of `words` in a secret is replaced by the kind of the secret."""
    lower = text.lower()
    for kind, pattern in _KINDS.items():
        if not any(needle in lower for needle in _NEEDLES[kind]):
            continue

        def mask(match: "re.Match[str]", kind: str = kind) -> str:
            secret = match.groupdict().get("value") or match.group()
            if secret.startswith("[redacted"):
                return match.group()
            found[kind] += 1
            return match.group().replace(secret, words.sub(f"[redacted {kind}]", secret))

        text = pattern.sub(mask, text)
    return text
