"""Which function answers a request: the routes of an HTTP API, and API Gateway's order among those that fit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from local.cloud.stack import Route

ANY = "ANY"
DEFAULT = "$default"


@dataclass(frozen=True)
class Match:
    """The route that won, its key as functions see it, and what the path's placeholders stand for."""

    function: str
    route_key: str
    parameters: Mapping[str, str]


class Router:
    """A full match wins over a greedy one, a named segment over a placeholder, a method over ANY; then comes $default.

    HEAD and OPTIONS are methods like all others: without a route of theirs (or ANY, or $default) nobody answers.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [_Compiled.of(route) for route in routes]

    def match(self, method: str, path: str) -> Match | None:
        """`path` as it was sent, still percent-encoded. None: no such route."""
        fits = [(route, found) for route in self._routes if (found := route.fit(method, path)) is not None]
        if not fits:
            return None
        best, parameters = min(fits, key=lambda fit: fit[0].rank)
        return Match(best.function, best.key, parameters)


@dataclass(frozen=True)
class _Compiled:
    method: str
    segments: tuple[str, ...] | None  # None: $default, which fits everything
    function: str
    key: str

    @classmethod
    def of(cls, route: Route) -> "_Compiled":
        if DEFAULT in (route.method, route.path, route.path.lstrip("/")):
            return cls(ANY, None, route.function, DEFAULT)
        method = ANY if route.method.lower() in ("any", "*", "x-amazon-apigateway-any-method") else route.method.upper()
        return cls(method, tuple(route.path.split("/")[1:]), route.function, f"{method} {route.path}")

    @property
    def rank(self) -> tuple[bool, bool, int, bool]:
        """The smallest comes first."""
        segments = self.segments or ()
        greedy = any(one.endswith("+}") for one in segments)
        named = sum(not one.startswith("{") for one in segments)
        return (self.segments is None, greedy, -named, self.method == ANY)

    def fit(self, method: str, path: str) -> Mapping[str, str] | None:
        if self.segments is None:
            return {}
        if self.method not in (ANY, method):
            return None
        parameters: dict[str, str] = {}
        given = path.split("/")[1:]
        for at, wanted in enumerate(self.segments):
            if wanted.endswith("+}"):
                rest = "/".join(given[at:])
                return {**parameters, wanted[1:-2]: unquote(rest)} if rest else None
            if at >= len(given) or not _segment_fits(wanted, given[at], parameters):
                return None
        return parameters if len(given) == len(self.segments) else None


def _segment_fits(wanted: str, given: str, parameters: dict[str, str]) -> bool:
    if not wanted.startswith("{"):
        return wanted == unquote(given)
    parameters[wanted[1:-1]] = unquote(given)
    return bool(given)
