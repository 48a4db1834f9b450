"""A Chromium that is told what to do: the width of its window, light or dark, paper, scripts; by its protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-quic --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
)


class Chromium:
    """A browser with one page open. A context: it ends with it."""

    def __init__(self, program: str):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (ours, to), (from_, theirs) = os.pipe(), os.pipe()

        def plumb() -> None:
            """Put the pipes where the browser expects them: it reads the protocol from 3 and writes it to 4."""
            high = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (ours, theirs)]
            for place, each in zip((3, 4), high, strict=True):
                os.dup2(each, place)

        command = [program, *FLAGS.split(), f"--user-data-dir={self._profile.name}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(3, 4), preexec_fn=plumb, **quiet)
        os.close(ours)
        os.close(theirs)
        self._to, self._from, self._rest, self._number = to, from_, b"", 0
        self.events: list[dict[str, Any]] = []
        self._session = ""
        [target] = [each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self._session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the browser."""
        try:
            self._session = ""
            self.ask("Browser.close", patience_s=5.0)
        except (OSError, TimeoutError):
            self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    @property
    def pid(self) -> int:
        """Return the number of the browser's process."""
        return self._process.pid

    def ask(self, method: str, patience_s: float = 120.0, **params: Any) -> Any:
        """Return what the browser answers to a command of its protocol. Raises RuntimeError for an error."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            answer = self._read(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)
        raise TimeoutError(method)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise OSError("the browser has ended")
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def run(self, script: str, patience_s: float = 60.0) -> Any:
        """Return the value of an expression in the page, awaited. Raises RuntimeError if it throws."""
        done = self.ask(
            "Runtime.evaluate", patience_s, expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", script))
        return done["result"].get("value")

    def look(self, width: int, height: int = 900, *, dark: bool = False, media: str = "") -> None:
        """Make the window so wide and high (px), its ground light or dark, its medium the screen or ``print``."""
        mobile = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, address: str) -> None:
        """Load a page and wait for it."""
        self.events.clear()
        self.ask("Page.navigate", url=address)
        until = time.monotonic() + 60.0
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read(until))

    def picture(self, target: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as a PNG."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        target.write_bytes(base64.b64decode(shot["data"]))

    def paper(self, target: Path) -> None:
        """Write the page as it is printed, as a PDF."""
        target.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))
