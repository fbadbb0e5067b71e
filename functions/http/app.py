"""The ASGI app of a set of routes. Any ASGI server can run it; on Lambda, `lambda_edge` does."""

from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Router

from functions.http.guard import Guard
from functions.http.problems import Problem, conflict, internal_error, problem_of
from shared.errors import Conflict, RequestRefused
from shared.services import Services


def http_app(services: Services, *routers: Router) -> Guard:
    """The routes with these services, behind the guard."""
    return Guard(unguarded_app(services, *routers), services)


def unguarded_app(services: Services, *routers: Router) -> FastAPI:
    """The routes alone, for an app that is behind a guard already."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.state.services = services
    for router in routers:
        # `include_router` would analyse each route a second time, on the first request.
        app.router.routes.extend(router.routes)
    _add_error_handlers(app)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a problem."""
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(Conflict, _conflict)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _internal)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)  # noqa: S101  # registered for this type
    return problem_of(error)


async def _conflict(_: Request, __: Exception) -> Response:
    return conflict()


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for this type
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return Problem("malformed_json", "The body is not valid JSON. Nothing was written.")
    fields = [
        {"field": ".".join(str(piece) for piece in problem["loc"][1:]), "problem": problem["msg"]}
        for problem in problems
    ]
    named = "; ".join(f"{entry['field']}: {entry['problem']}" for entry in fields[:5])
    return Problem("invalid_request", f"The request does not match the contract: {named}.", {"errors": fields})


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for this type
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return Problem("not_found", "There is nothing at this path.")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return Problem("method_not_allowed", "This path does not take this method.")
        case HTTPStatus.BAD_REQUEST:  # not UTF-8, nested too deep, or a number with too many digits
            return Problem("malformed_json", "The body cannot be read as JSON. Nothing was written.")
    return internal_error(error)


async def _internal(_: Request, error: Exception) -> Response:
    return internal_error(error)
