"""Product code replaces no attribute of a library that it imports."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.syntax import parse

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("functions", "shared", "local", "cli")
OWN = {*PRODUCT, "handoff_cli", "handoff_server", "docs"}
PATCHES = ROOT / "local" / "cloud" / "moto_patches"
"""The emulated AWS, for one pinned version of moto. No user's data is there."""
CONSTANTS = {
    "discord.VoiceClient.warn_dave": "mutes a warning about voice, which is not used; there is no option",
    "discord.VoiceClient.warn_nacl": "as above",
    "discord.http.Route.BASE": "the address of Discord, for a simulated one; there is no option",
    "discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY": "as above",
}
"""What discord.py's class constants are set for."""
STREAMS = {"sys.stdin", "sys.stdout", "sys.stderr"}
"""Of the process itself. Python documents that they may be assigned."""
FILES = sorted(
    path for package in PRODUCT for path in (ROOT / package).rglob("*.py") if not path.is_relative_to(PATCHES)
)


def replaced(source: str) -> Iterator[str]:
    """Attributes of imported modules and classes that the source assigns or deletes, by their full names."""
    tree = parse(source)
    imported = dict(_imports(tree))
    for node in ast.walk(tree):
        for target in _targets(node):
            root, *path = _path(target)
            if path and root in imported:
                yield ".".join((imported[root], *path))


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports of libraries bind, with what they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] not in OWN:
                    yield (
                        alias.asname or alias.name.partition(".")[0],
                        alias.name if alias.asname else alias.name.partition(".")[0],
                    )
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] not in OWN:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from _flat(target)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            yield from _flat(target)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _flat(target)
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, name, *_]):
            yield ast.Attribute(owner, str(name.value) if isinstance(name, ast.Constant) else "*")
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="__dict__") as owner)):
            yield owner
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), attr="update" | "pop")
        ):
            yield ast.Attribute(owner, "*")


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each in targets:
                yield from _flat(each)
        case ast.Starred(value=value):
            yield from _flat(value)
        case ast.Subscript(value=ast.Attribute(attr="__dict__") as owner):
            yield owner
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner])):
            yield ast.Attribute(owner, "*")
        case _:
            yield target


def _path(target: ast.expr) -> list[str]:
    """`a.b.c` as its parts; only the first is empty if it does not begin with a name."""
    match target:
        case ast.Attribute(value=value, attr=attr):
            return [*_path(value), attr]
        case ast.Name(id=name):
            return [name]
    return [""]


def test_only_the_exceptions_are_replaced_and_each_is_needed() -> None:
    found = {(name, path) for path in FILES for name in replaced(path.read_text()) if name not in STREAMS}

    assert {(name, path) for name, path in found if name not in CONSTANTS} == set()
    assert {name for name, _ in found} == set(CONSTANTS)


def test_mocks_are_for_tests() -> None:
    names = {name for path in FILES for name in dict(_imports(parse(path.read_text()))).values()}

    assert {name for name in names if name.startswith("unittest")} == set()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import ssl\nssl.SSLContext.load = later", "ssl.SSLContext.load"),
        ("import ssl as tls\ntls.create = later", "ssl.create"),
        ("from pydantic import BaseModel\ndef hurry():\n    BaseModel.__init__ = quick", "pydantic.BaseModel.__init__"),
        ("def hurry():\n    import fastapi\n    fastapi.routing.x, y = quick, 1", "fastapi.routing.x"),
        ("import discord\nsetattr(discord.Client, 'run', later)", "discord.Client.run"),
        ("from discord import Client\nsetattr(Client, name, later)", "discord.Client.*"),
        ("import json\njson.__dict__['dumps'] = quick", "json.__dict__"),
        ("import fastapi\nvars(fastapi.utils)['is_v1'] = never", "fastapi.utils.*"),
        ("import fastapi\nvars(fastapi.utils).update(is_v1=never)", "fastapi.utils.*"),
        ("import json\njson.__dict__.update(dumps=quick)", "json.__dict__"),
        ("import json\ndel json.dumps", "json.dumps"),
        ("import json\njson.limit += 1", "json.limit"),
    ],
)
def test_a_replaced_attribute_is_noticed(source: str, name: str) -> None:
    assert list(replaced(source)) == [name]


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.environ['A'] = 'b'",
        "import threading\nthread = threading.Thread()\nthread.name = 'x'",
        "from shared import clock\nclock.now = later",
        "class A:\n    def __init__(self):\n        self.x = 1",
    ],
)
def test_what_is_our_own_may_be_assigned(source: str) -> None:
    assert list(replaced(source)) == []
