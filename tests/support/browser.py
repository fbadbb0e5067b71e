"""Chromium, driven over WebDriver's HTTP interface."""

import base64
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any, Self, TypeVar

import httpx

from tests.support.waiting import eventually

T = TypeVar("T")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--window-size=1280,860")
ENTER, SHIFT, TAB, DOWN, ESCAPE, NULL = "\ue007", "\ue008", "\ue004", "\ue015", "\ue00c", "\ue000"


def missing() -> str | None:
    """Which programs are missing, or None."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"needs {' and '.join(absent)} (apt-get install chromium chromium-driver)" if absent else None


class Browser:
    """One browser window, with more flags if given. Lookups wait until the element exists."""

    def __init__(self, *flags: str) -> None:
        self._flags = [*FLAGS, *flags]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._profile = tempfile.TemporaryDirectory()
        driver = shutil.which("chromedriver")
        assert driver is not None
        self._driver = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
        self._session = ""

    def __enter__(self) -> Self:
        try:
            self.until(self._is_ready)
            options = {
                "binary": shutil.which("chromium"),
                "args": [*self._flags, f"--user-data-dir={self._profile.name}"],
            }
            capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
            answer = self._http.post("/session", json={"capabilities": capabilities}).json()["value"]
            self._session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._session:
            self._http.delete(self._session)
        self._driver.terminate()
        self._driver.wait(timeout=10)
        self._http.close()
        self._profile.cleanup()

    def open(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """The size of the page itself: a window cannot be as narrow as a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def prefer(self, scheme: str) -> None:
        """A person's choice of `light` or `dark`."""
        params = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": params})

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        """What a person sees there, or nothing."""
        found = self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        return str(found)

    def texts(self, selector: str) -> list[str]:
        found = self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector)
        return [str(text) for text in found]

    def click(self, selector: str) -> None:
        self._call("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._call("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def press(self, keys: str) -> None:
        """Keys to whatever has the focus, as from a keyboard."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def picture(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self._call("GET", "/screenshot"))

    def complaints(self) -> list[str]:
        """What the browser's console holds against the page."""
        log = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in {"SEVERE", "WARNING"}]

    def until(self, condition: Callable[[], T], *, seconds: float = 20.0) -> T:
        """Evaluate the condition until it is true."""
        return eventually(condition, within=seconds)

    def _find(self, selector: str) -> str:
        body = {"using": "css selector", "value": selector}
        found = self.until(lambda: self._call("POST", "/elements", body))
        return str(found[0][ELEMENT])

    def _is_ready(self) -> bool:
        try:
            return bool(self._http.get("/status").json()["value"]["ready"])
        except httpx.TransportError:
            return False

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, f"{self._session}{path}", json=body)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value
