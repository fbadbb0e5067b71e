"""A bot API that answers each method as a test tells it to, for cases that the simulator does not show."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.servers import HttpServer, Request, Response, json_response

Answers = Mapping[str, Any]


@contextmanager
def scripted(answers: Answers, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """Answers by the last part of the path, with 404 for what `answers` does not hold. Yields its URL."""

    def answer(request: Request) -> Response:
        found = answers.get(request.path.rpartition("/")[2])
        return (
            json_response({"ok": False, "error_code": 404}, 404)
            if found is None
            else json_response(found, 200, headers)
        )

    with HttpServer(answer) as server:
        yield server.url
