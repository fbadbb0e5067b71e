"""A bar chart as SVG, for light and dark pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, LABEL, VALUE, ROW, TOP = 760, 150, 130, 44, 44
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
.p95 { fill: #afc6e0 }
.p50 { fill: #1f6fb2 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .p95 { fill: #2d4a66 } .p50 { fill: #5bb5f0 } }
"""


@dataclass(frozen=True)
class Bar:
    """Two values in seconds: the median as the dark bar, the 95th percentile as the light one behind it."""

    label: str
    p50: float
    p95: float


def draw(title: str, bars: Sequence[Bar]) -> str:
    longest = max((bar.p95 for bar in bars), default=1.0)
    rows = "".join(_row(bar, number, longest) for number, bar in enumerate(bars))
    height = TOP + ROW * len(bars) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
        f'<text class="title" x="8" y="24">{escape(title)} (dark: p50, light: p95)</text>{rows}</svg>\n'
    )


def _row(bar: Bar, number: int, longest: float) -> str:
    y = TOP + ROW * number
    room = WIDTH - LABEL - VALUE
    widths = {"p95": max(1.0, bar.p95 / longest * room), "p50": max(1.0, bar.p50 / longest * room)}
    rectangles = "".join(
        f'<rect class="{name}" x="{LABEL}" y="{y}" width="{width:.1f}" height="26" rx="2"/>'
        for name, width in widths.items()
    )
    end = LABEL + max(widths.values()) + 8
    return (
        f'<text x="8" y="{y + 18}">{escape(bar.label)}</text>{rectangles}'
        f'<text x="{end:.1f}" y="{y + 18}">{_shown(bar.p50)} / {_shown(bar.p95)}</text>'
    )


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
