"""JupyterLab in a real browser, driven over Chromium's own DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import websocket

DEADLINE = 120


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, executable: str, folder: Path):
        self._process = subprocess.Popen(
            [
                executable,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                "--window-size=1280,1000",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        try:
            port = self._port()
            with urllib.request.urlopen(
                urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT"), timeout=DEADLINE
            ) as answer:
                target = json.load(answer)
            self._socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=DEADLINE)
        except BaseException:
            self.close()
            raise
        self._calls = 0

    def _port(self) -> int:
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if found := re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
                return int(found[1])
        raise RuntimeError("Chromium did not start:\n" + "".join(said))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """Gives the value of a JavaScript expression, after its promise is kept."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, condition: str, seconds: int = DEADLINE) -> Any:
        """Waits until a JavaScript expression is true, looking at every frame that the page draws."""
        return self.evaluate(
            f"""new Promise((resolve, reject) => {{
                const end = Date.now() + {seconds * 1000};
                const look = () => {{
                    let value;
                    try {{ value = {condition}; }} catch (error) {{ value = false; }}
                    if (value) resolve(value);
                    else if (Date.now() > end) reject(new Error('waited in vain; the page shows: ' + document.body.innerText.slice(-3000)));
                    else setTimeout(look, 50);
                }};
                look();
            }})"""
        )

    def open(self, url: str) -> None:
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Lab:
    """A JupyterLab server on a folder of notebooks."""

    def __init__(self, folder: Path, env: dict[str, str]):
        self._home = tempfile.TemporaryDirectory(prefix="lab-")
        full = {**os.environ, **env, "HOME": self._home.name, "JUPYTER_RUNTIME_DIR": self._home.name}
        full["JUPYTER_CONFIG_DIR"] = self._home.name
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                "--no-browser",
                "--allow-root",
                "--ip=127.0.0.1",
                "--port=0",
                "--LabApp.news_url=None",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            cwd=folder,
            env=full,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stderr is not None
        said = []
        self.url = self.token = ""
        for line in self._process.stderr:
            said.append(line)
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab\?token=(\w+)", line):
                self.url, self.token = found[1], found[2]
                break
        if not self.url:
            self.close()
            raise RuntimeError("JupyterLab did not start:\n" + "".join(said))

    def address(self, notebook: str) -> str:
        return f"{self.url}/lab/tree/{notebook}?token={self.token}"

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._home.cleanup()
