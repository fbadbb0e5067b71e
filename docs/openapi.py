"""Write docs/openapi.json, the HTTP contract as the routes define it: `make openapi`."""

import json
from pathlib import Path
from typing import Any

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from functions.http.problems import CODES
from functions.request import account_routes as request_accounts
from functions.request import link_routes as links
from functions.request import order_routes as orders
from functions.request import routes as request
from functions.request import runner_routes as runners
from functions.status import account_routes as status_accounts
from functions.status import routes as status
from functions.webhook import routes as webhook
from handoff_cli import __version__

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "openapi.json"
DESCRIPTION = "Move a live agent session from a terminal into a chat thread, and back. The prose is in docs/http.md."


def document() -> dict[str, Any]:
    """One document for all HTTP functions. Equal code gives equal text."""
    modules = (request, request_accounts, links, runners, orders, status, status_accounts, webhook)
    routes = [route for module in modules for route in module.router.routes if isinstance(route, APIRoute)]
    routes.sort(key=lambda route: (route.path, sorted(route.methods or ())))
    written = get_openapi(title="Handoff", version=__version__, description=DESCRIPTION, routes=routes)
    for operation in (operation for path in written["paths"].values() for operation in path.values()):
        # FastAPI expects its own errors wherever a path has a parameter; ours are in each route's `responses`.
        if "HTTPValidationError" in str(operation["responses"].get("422")):
            del operation["responses"]["422"]
        operation["operationId"] = operation["summary"].lower().replace(" ", "_")
    schemas = written["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = _problem()
    written["components"]["schemas"] = dict(sorted(schemas.items()))
    return written


def rendered() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _problem() -> dict[str, Any]:
    """The schema of every error body: the fields that all have, and those that some codes add."""
    extra: dict[str, Any] = {}
    for code, description in CODES.items():
        for name, schema in description.extra.items():
            extra[name] = {**schema, "description": f"With `{code}`."}
    return {
        "title": "Problem",
        "description": "An error. `code` is stable; `detail` is a sentence for people.",
        "type": "object",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string", "enum": list(CODES)},
            "detail": {"type": "string"},
            **extra,
        },
    }


if __name__ == "__main__":
    FILE.write_text(rendered())
