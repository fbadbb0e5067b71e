"""Selects the route of an HTTP API for a request, with API Gateway's precedence rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from local.cloud.stack import Route

ANY = "ANY"
DEFAULT = "$default"
LITERAL, PLACEHOLDER, GREEDY = range(3)  # kinds of path segments, the most specific first


@dataclass(frozen=True)
class Match:
    """The selected route: its function, its key as events name it, and the values of the path parameters."""

    function: str
    route_key: str
    parameters: Mapping[str, str]


class Router:
    """Precedence: a full match before a greedy one, then the most specific path, then a method before ANY, last $default.

    `{rest+}` matches one or more segments, never none. HEAD and OPTIONS need a route (or ANY, or $default) as any method does.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [_Compiled.of(route) for route in routes]

    def match(self, method: str, path: str) -> Match | None:
        """Find the route for a path as it was sent, still percent-encoded. None: no such route."""
        fits = [(route, found) for route in self._routes if (found := route.fit(method, path)) is not None]
        if not fits:
            return None
        best, parameters = min(fits, key=lambda fit: fit[0].rank)
        return Match(best.function, best.key, parameters)


@dataclass(frozen=True)
class _Compiled:
    method: str
    segments: tuple[str, ...] | None  # None: $default, which matches everything
    function: str
    key: str

    @classmethod
    def of(cls, route: Route) -> "_Compiled":
        if DEFAULT in (route.method, route.path, route.path.lstrip("/")):
            return cls(ANY, None, route.function, DEFAULT)
        return cls(route.method, tuple(route.path.split("/")[1:]), route.function, f"{route.method} {route.path}")

    @property
    def rank(self) -> tuple[bool, bool, list[int], bool]:
        """The smallest wins. Segments are compared from the left: a literal before a placeholder before a greedy one."""
        kinds = [_kind(segment) for segment in self.segments or ()]
        return (self.segments is None, GREEDY in kinds, kinds, self.method == ANY)

    def fit(self, method: str, path: str) -> Mapping[str, str] | None:
        if self.segments is None:
            return {}
        if self.method not in (ANY, method):
            return None
        parameters: dict[str, str] = {}
        given = path.split("/")[1:]
        for at, wanted in enumerate(self.segments):
            if _kind(wanted) == GREEDY:
                rest = "/".join(given[at:])
                return {**parameters, wanted[1:-2]: unquote(rest)} if rest else None
            if at >= len(given) or not _segment_fits(wanted, given[at], parameters):
                return None
        return parameters if len(given) == len(self.segments) else None


def _kind(segment: str) -> int:
    if not segment.startswith("{"):
        return LITERAL
    return GREEDY if segment.endswith("+}") else PLACEHOLDER


def _segment_fits(wanted: str, given: str, parameters: dict[str, str]) -> bool:
    if _kind(wanted) == LITERAL:
        return wanted == unquote(given)
    parameters[wanted[1:-1]] = unquote(given)
    return bool(given)
