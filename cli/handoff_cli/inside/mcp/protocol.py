"""JSON-RPC on lines, as much of it as a server with tools and prompts needs."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from handoff_cli import __version__
from handoff_cli.errors import CliError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_PARSE, _INVALID, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602

Json = dict[str, Any]


class BadParams(Exception):
    """The client named something that is not there, or left something out."""


class Server:
    """Answers one message at a time. `call` runs a tool and returns its text; it may raise CliError or BadParams."""

    def __init__(self, tools: list[Json], prompts: Mapping[str, Json], call: Callable[[str, Json], str]) -> None:
        self._tools, self._prompts, self._call = tools, prompts, call
        self._methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": self._tools},
            "tools/call": self._call_tool,
            "prompts/list": lambda _: {"prompts": [_listed(name, about) for name, about in self._prompts.items()]},
            "prompts/get": self._prompt,
        }

    def serve(self, lines: Iterable[bytes], out: TextIO) -> None:
        """Answer each line until there are no more."""
        for line in lines:
            if line.strip() and (answer := self.answer(line)) is not None:
                out.write(json.dumps(answer) + "\n")
                out.flush()

    def answer(self, line: bytes) -> Json | None:
        """The answer to one line; None if it needs none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE, "not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            # An answer to something that was never asked; or not a message at all.
            known = isinstance(message, dict) and ("result" in message or "error" in message)
            return None if known else _error(None, _INVALID, "not a request")
        if "id" not in message:
            return None
        method = self._methods.get(message["method"])
        if method is None:
            return _error(message["id"], _NO_METHOD, f"unknown method {message['method']}")
        params = message.get("params")
        try:
            result = method(params if isinstance(params, dict) else {})
        except BadParams as error:
            return _error(message["id"], _BAD_PARAMS, str(error))
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _initialize(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "handoff", "version": __version__},
        }

    def _call_tool(self, params: Json) -> Json:
        arguments = params.get("arguments")
        try:
            text = self._call(str(params.get("name")), arguments if isinstance(arguments, dict) else {})
        except CliError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {"content": [{"type": "text", "text": text}]}

    def _prompt(self, params: Json) -> Json:
        about = self._prompts.get(str(params.get("name")))
        if about is None:
            raise BadParams("there is no such prompt")
        given = params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        text = str(about["text"]).format_map(
            {each["name"]: arguments.get(each["name"], "") for each in about["arguments"]}
        )
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def _listed(name: str, about: Json) -> Json:
    return {"name": name, "description": about["description"], "arguments": about["arguments"]}


def _error(number: Any, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
