"""Certificates of the system that are read by the first TLS connection."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def certificates_when_used() -> Iterator[None]:
    """A TLS context that is made inside reads the certificates when it is first used.

    aiohttp makes two when it is imported. Reading them takes as long as half of that import.
    """
    load = ssl.SSLContext.set_default_verify_paths

    def load_later(context: ssl.SSLContext) -> None:
        lock = threading.Lock()

        def used(name: str) -> Any:
            def wrap(*arguments: Any, **named: Any) -> Any:
                with lock:
                    if name in context.__dict__:
                        load(context)
                        del context.__dict__["wrap_bio"], context.__dict__["wrap_socket"]
                return getattr(context, name)(*arguments, **named)

            return wrap

        context.__dict__.update(wrap_bio=used("wrap_bio"), wrap_socket=used("wrap_socket"))

    ssl.SSLContext.set_default_verify_paths = load_later  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = load  # type: ignore[method-assign]
