"""A page in headless Chromium, driven over the DevTools pipe, with its rendering, console messages
and network requests.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless=new", "--remote-debugging-pipe"] + [
    f"--{flag}"
    for flag in ("no-sandbox", "no-first-run", "disable-gpu", "disable-quic", "disable-sync", "disable-dev-shm-usage")
    + ("disable-background-networking", "disable-component-update")
]


class Page:
    """A loaded page: `with Page(path) as page: page.value("document.title")`. `requests` lists the
    requested URLs except the page.
    """

    def __init__(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        assert CHROMIUM
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self.write_to = os.pipe()
        self.read_from, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4. bash moves ours there; dash
        # supports only one-digit descriptors.
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{to_browser} 4>&{from_browser}',
                "bash",
                CHROMIUM,
                *FLAGS,
                f"--user-data-dir={self.profile}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
            # its temporary folders are removed with the profile
            env=os.environ | {"TMPDIR": self.profile},
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.sent = b"", 0
        self.url = "about:blank"
        self.console: list[str] = []
        self.requests: list[str] = []
        try:
            self._open(path, width, height, dark)
        except BaseException:
            self._close()
            raise

    def _open(self, path: Path, width: int, height: int, dark: bool) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            self.call(f"{domain}.enable")
        self.show(path, width, height, dark)

    def show(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a page on a screen of the given size."""
        self.call("Page.navigate", url="about:blank")
        self.wait_for("document.readyState === 'complete' && location.href === 'about:blank'")
        self.console, self.requests = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.url = path.resolve().as_uri()
        self.call("Page.navigate", url=self.url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        self.value("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))")
        metrics = {one["name"]: one["value"] for one in self.call("Performance.getMetrics")["metrics"]}
        #: Processor time of the page's thread until it was drawn, which does not depend on other
        #: programs.
        self.seconds = metrics["TaskDuration"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self.sent:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_from], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self.read_from, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("chromium gave no answer")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                self.console.append(f"{params['type']}: {[one.get('value') for one in params['args']]}")
            case "Runtime.exceptionThrown":
                self.console.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
            case "Log.entryAdded":
                self.console.append(params["entry"]["text"])
            case "Network.requestWillBeSent" if params["request"]["url"] != self.url and not params["request"]["url"].startswith("data:"):
                self.requests.append(params["request"]["url"])
        return message

    def value(self, expression: str) -> Any:
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < deadline, f"still not: {expression}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def __enter__(self) -> Page:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        # Its helper processes outlive it briefly and could write to the profile during its removal.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        os.close(self.write_to)
        os.close(self.read_from)
        for _ in range(50):
            shutil.rmtree(self.profile, ignore_errors=True)
            if not Path(self.profile).exists():
                return
            time.sleep(0.05)
