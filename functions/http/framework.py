"""FastAPI, imported in a way that takes half of its usual time. Functions import it from here only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict


@contextmanager
def _built_on_first_use() -> Iterator[None]:
    """Models that are made inside are built when they are first used, those of other threads as well."""
    config, rebuild = BaseModel.model_config, BaseModel.__dict__["model_rebuild"]

    def rebuild_if_used(cls: type[BaseModel], **named: Any) -> bool | None:
        """A module that wants its models complete gives no arguments; pydantic, at the first use, does."""
        done: bool | None = rebuild.__func__(cls, **named) if named else None
        return done

    BaseModel.model_config = ConfigDict(defer_build=True)
    BaseModel.model_rebuild = classmethod(rebuild_if_used)  # type: ignore[assignment,method-assign,arg-type]
    try:
        yield
    finally:
        BaseModel.model_config = config
        BaseModel.model_rebuild = rebuild  # type: ignore[method-assign]


# Half of the time of this import are the models of OpenAPI documents, which no request uses.
with _built_on_first_use():
    import fastapi.utils

# FastAPI imports pydantic 1 to ask whether a route uses one of its models. None does.
vars(fastapi.utils)["annotation_is_pydantic_v1"] = lambda _annotation: False

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response  # noqa: E402
from fastapi.exceptions import RequestValidationError  # noqa: E402
from fastapi.openapi.models import HTTPBearer  # noqa: E402
from fastapi.security.base import SecurityBase  # noqa: E402

__all__ = [
    "APIRouter",
    "Depends",
    "FastAPI",
    "HTTPBearer",
    "Header",
    "Path",
    "Query",
    "Request",
    "RequestValidationError",
    "Response",
    "SecurityBase",
]
