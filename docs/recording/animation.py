"""CSS keyframes: when something is seen and where it is. One clock for all, endlessly."""

from collections.abc import Sequence
from itertools import pairwise

Stop = tuple[int, float, float]
_FADE = 260
_GLIDE = 420
_RISE = 7


class Animation:
    """Gives out class names. Without the animation each element is as it is at the moment `still`."""

    def __init__(self, *, total: int, still: int) -> None:
        self._total, self._still = total, still
        self._names: dict[str, str] = {}

    def seen(self, start: int, end: int) -> str:
        """There from `start` until `end`, at once."""
        stops = [(0, "visibility:hidden")] if start > 0 else []
        stops.append((start, "visibility:visible"))
        if end < self._total:
            stops.append((end, "visibility:hidden"))
        shown = start <= self._still < end
        return self._class("cut", "visibility:visible" if shown else "visibility:hidden", stops)

    def arriving(self, start: int, end: int) -> str:
        """Comes up softly, and goes with the end of its time."""
        gone, there = f"opacity:0;transform:translate(0,{_RISE}px)", "opacity:1;transform:none"
        leaves = max(start + _FADE, end - _FADE)
        stops = [(0, gone), (start, gone), (start + _FADE, there), (leaves, there), (end, "opacity:0;transform:none")]
        return self._class("ease", there if start <= self._still < end else gone, stops)

    def placed(self, stops: Sequence[Stop], *, gliding: bool = False) -> str:
        """At `(x, y)` from each moment on; `gliding` takes a moment to get there."""
        held = next(((x, y) for at, x, y in reversed(stops) if at <= self._still), stops[0][1:])
        css = [(at, _at(x, y)) for at, x, y in stops]
        if gliding:
            css = [
                css[0],
                *(stop for old, new in pairwise(css) for stop in ((new[0], old[1]), (new[0] + _GLIDE, new[1]))),
            ]
            css.append((self._total, css[-1][1]))
        return self._class("ease" if gliding else "cut", _at(*held), css)

    def css(self) -> str:
        clock = f"{self._total / 1000:g}s"
        kinds = (
            f".cut{{animation:{clock} step-end infinite}}\n.ease{{animation:{clock} ease-out infinite}}\n"
            "@media (prefers-reduced-motion:reduce){*{animation:none!important}}\n"
        )
        return kinds + "\n".join(rules.replace("NAME", name) for rules, name in self._names.items()) + "\n"

    def _class(self, kind: str, base: str, stops: Sequence[tuple[int, str]]) -> str:
        """Equal rules share a name."""
        frames: dict[str, str] = {self._percent(at): css for at, css in stops}
        keyframes = "".join(f"{at}{{{css}}}" for at, css in frames.items())
        rules = f".NAME{{{base};animation-name:NAME}}@keyframes NAME{{{keyframes}}}"
        name = self._names.setdefault(rules, f"k{len(self._names)}")
        return f"{kind} {name}"

    def _percent(self, at: int) -> str:
        text = f"{100 * min(at, self._total) / self._total:.3f}".rstrip("0").rstrip(".")
        return f"{text}%"


def _at(x: float, y: float) -> str:
    return f"transform:translate({x:g}px,{y:g}px)"
