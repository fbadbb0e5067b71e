"""Syntax trees, in a process where other threads may format tracebacks, which parses source, too."""

import ast
import gc


def parse(source: str) -> ast.Module:
    """`ast.parse`, as one step. Python up to 3.11.7 counts the depth of all threads together.

    A garbage collection inside lets another thread run: https://github.com/python/cpython/issues/106905.
    """
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.enable()
