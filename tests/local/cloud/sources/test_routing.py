"""Routes of an HTTP API: which one wins, and what its placeholders hold."""

import pytest

from local.cloud.sources.routing import Router
from local.cloud.stack import Route

ROUTES = [
    Route("GET", "/handoffs", "list"),
    Route("POST", "/handoffs", "create"),
    Route("GET", "/handoffs/{id}", "get"),
    Route("GET", "/handoffs/due", "due"),
    Route("GET", "/sessions/{id}/messages", "messages"),
    Route("ANY", "/any/{id}", "any"),
    Route("PUT", "/any/{id}", "put any"),
    Route("GET", "/files/{proxy+}", "files"),
    Route("GET", "/files/{name}", "file"),
    Route("ANY", "/hooks/{name}", "hook"),
    Route("ANY", "/hooks/{name}/{rest+}", "hook below"),
    Route("ANY", "/hooks/{rest+}", "hooks"),
    Route("POST", "/hooks/special/{rest+}", "special"),
    Route("GET", "/pets/dog/1", "dog 1"),
    Route("GET", "/pets/dog/{id}", "dog"),
    Route("GET", "/pets/{proxy+}", "pets"),
    Route("ANY", "/pets/{proxy+}", "any pets"),
    Route("ANY", "/pets/dog/{id}", "any dog"),
]


@pytest.mark.parametrize(
    ("method", "path", "function", "parameters"),
    [
        ("GET", "/handoffs", "list", {}),
        ("POST", "/handoffs", "create", {}),
        ("GET", "/handoffs/h1", "get", {"id": "h1"}),
        ("GET", "/handoffs/due", "due", {}),
        ("GET", "/handoffs/a%20b%2Fc", "get", {"id": "a b/c"}),
        ("GET", "/sessions/s1/messages", "messages", {"id": "s1"}),
        ("DELETE", "/any/1", "any", {"id": "1"}),
        ("PUT", "/any/1", "put any", {"id": "1"}),
        ("GET", "/files/a", "file", {"name": "a"}),
        ("GET", "/files/a/b%20c/d", "files", {"proxy": "a/b c/d"}),
        ("PUT", "/hooks/a", "hook", {"name": "a"}),
        ("PUT", "/hooks/a/b", "hook below", {"name": "a", "rest": "b"}),
        ("PUT", "/hooks/a/b/c", "hook below", {"name": "a", "rest": "b/c"}),
        ("GET", "/hooks/special/b", "hook below", {"name": "special", "rest": "b"}),
        ("POST", "/hooks/special/b", "special", {"rest": "b"}),
        # The example of API Gateway's documentation of HTTP APIs:
        ("GET", "/pets/dog/1", "dog 1", {}),
        ("GET", "/pets/dog/2", "dog", {"id": "2"}),
        ("GET", "/pets/cat/1", "pets", {"proxy": "cat/1"}),
        ("POST", "/pets/cat/1", "any pets", {"proxy": "cat/1"}),
        ("POST", "/pets/dog/1", "any dog", {"id": "1"}),
    ],
)
def test_best_route_wins(method: str, path: str, function: str, parameters: dict[str, str]) -> None:
    match = Router(ROUTES).match(method, path)
    assert match is not None
    assert (match.function, dict(match.parameters)) == (function, parameters)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("GET", "/handoffs/"),
        ("GET", "/handoffs/h1/more"),
        ("DELETE", "/handoffs"),
        ("HEAD", "/handoffs"),
        ("OPTIONS", "/handoffs"),
        ("GET", "/files/"),
        ("GET", "/files"),
        ("GET", "/hooks"),
        ("GET", "/hooks/"),
        ("GET", "/sessions//messages"),
        ("GET", "*"),
    ],
)
def test_no_route_fits(method: str, path: str) -> None:
    assert Router(ROUTES).match(method, path) is None


@pytest.mark.parametrize("route", [Route("$default", "$default", "rest"), Route("ANY", "/$default", "rest")])
def test_default_takes_what_no_other_route_does(route: Route) -> None:
    router = Router([route, *ROUTES])
    for method, path in (("HEAD", "/handoffs"), ("GET", "/nothing"), ("OPTIONS", "/")):
        match = router.match(method, path)
        assert match is not None
        assert (match.function, match.route_key) == ("rest", "$default")
    match = router.match("GET", "/handoffs/h1")
    assert match is not None
    assert (match.function, match.route_key) == ("get", "GET /handoffs/{id}")
