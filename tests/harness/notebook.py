"""A notebook's view of a kernel, over the real Jupyter protocol.

    with Notebook() as notebook:
        cell = notebook.run("1 + 1")
        assert cell.result == "2"

Nothing here sleeps: a cell is followed by its messages, each wait ends with the message it waits for
or fails at a generous deadline that prints what had arrived until then.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.manager import KernelManager

from . import processes

KERNEL = "gorovod"
DEADLINE = 120.0

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def plain(text: str) -> str:
    """The text without terminal colours."""
    return _ANSI.sub("", text)


class Cell:
    """One execution: its output, result and reply, as they arrive."""

    def __init__(self, notebook: Notebook, code: str, msg_id: str):
        self.notebook = notebook
        self.code = code
        self.msg_id = msg_id
        self.messages: list[dict[str, Any]] = []
        self.reply: dict[str, Any] | None = None
        self.idle = False
        self.replied_at = 0.0

    # What the client saw.

    def contents(self, msg_type: str) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["msg_type"] == msg_type]

    def stream(self, name: str) -> str:
        return "".join(c["text"] for c in self.contents("stream") if c["name"] == name)

    @property
    def stdout(self) -> str:
        return self.stream("stdout")

    @property
    def stderr(self) -> str:
        return self.stream("stderr")

    @property
    def result_data(self) -> dict[str, Any] | None:
        """The MIME bundle of the cell's result; None when it has none."""
        results = self.contents("execute_result")
        assert len(results) <= 1, f"more than one execute_result: {results}"
        return results[0]["data"] if results else None

    @property
    def result(self) -> str | None:
        """The cell's result as text; None when it has none."""
        data = self.result_data
        return None if data is None else data["text/plain"]

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The bundles shown, in order, each as its latest update left it."""
        shown: list[dict[str, Any]] = []
        by_id: dict[str, int] = {}
        for message in self.messages:
            if message["msg_type"] not in ("display_data", "update_display_data"):
                continue
            content = message["content"]
            display_id = content.get("transient", {}).get("display_id")
            if message["msg_type"] == "display_data":
                shown.append(content["data"])
                if display_id:
                    by_id[display_id] = len(shown) - 1
            elif display_id in by_id:
                shown[by_id[display_id]] = content["data"]
        return shown

    @property
    def error(self) -> dict[str, Any] | None:
        errors = self.contents("error")
        assert len(errors) <= 1, f"more than one error message: {errors}"
        return errors[0] if errors else None

    @property
    def error_text(self) -> str:
        """All that the user reads of the error, without colours; "" when there is none."""
        error = self.error
        if error is None:
            return ""
        return plain("\n".join([f"{error['ename']}: {error['evalue']}", *error["traceback"]]))

    @property
    def status(self) -> str:
        assert self.reply is not None, self
        return self.reply["status"]

    @property
    def done(self) -> bool:
        return self.reply is not None and self.idle

    # Following it.

    def until(self, condition: Callable[[Cell], Any], timeout: float = DEADLINE, what: str = "") -> Cell:
        """Reads messages until condition holds for the cell."""
        self.notebook.read_until(lambda: condition(self), timeout, lambda: f"{what or 'a condition'} of {self!r}")
        return self

    def until_stdout(self, text: str, timeout: float = DEADLINE) -> Cell:
        return self.until(lambda cell: text in cell.stdout or cell.done, timeout, f"{text!r} on stdout").must_have(text)

    def must_have(self, text: str) -> Cell:
        assert text in self.stdout, self
        return self

    def finish(self, timeout: float = DEADLINE) -> Cell:
        """Reads messages until the reply and the idle status are there."""
        return self.until(lambda cell: cell.done, timeout, "the end")

    def ok(self) -> Cell:
        assert self.status == "ok", self
        return self

    def failed(self) -> Cell:
        assert self.status == "error", self
        assert self.error is not None, self
        return self

    def __repr__(self) -> str:
        parts = [f"cell {self.code!r}"]
        if self.reply is None:
            parts.append("not replied")
        else:
            parts.append(f"status {self.reply['status']}")
        for name, value in (("stdout", self.stdout), ("stderr", self.stderr), ("error", self.error_text)):
            if value:
                parts.append(f"{name}:\n{value[-4000:]}")
        if self.result_data is not None:
            parts.append(f"result: {str(self.result_data)[:2000]}")
        for shown in self.displays:
            parts.append(f"display: {str(shown)[:1000]}")
        return "\n".join(parts)


class Notebook:
    """A kernel process with a client, and the mark by which its processes are found."""

    def __init__(self, *, env: dict[str, str] | None = None, cwd: str | Path | None = None, kernel: str = KERNEL):
        self.mark = uuid.uuid4().hex
        self._folder = tempfile.TemporaryDirectory(prefix="notebook-")
        self.home = Path(self._folder.name)
        for name in ("home", "tmp", "run"):
            (self.home / name).mkdir(mode=0o700)
        full = dict(os.environ)
        # What the kernel leaves behind in files is found below self.home.
        full.update(
            HOME=str(self.home / "home"),
            TMPDIR=str(self.home / "tmp"),
            XDG_RUNTIME_DIR=str(self.home / "run"),
            XDG_CACHE_HOME=str(self.home / "home" / "cache"),
            XDG_DATA_HOME=str(self.home / "home" / "data"),
            XDG_CONFIG_HOME=str(self.home / "home" / "config"),
            XDG_STATE_HOME=str(self.home / "home" / "state"),
        )
        full[processes.MARK] = self.mark
        full.update(env or {})
        self._cells: dict[str, Cell] = {}
        self._replies: dict[str, dict[str, Any]] = {}
        self._idle: set[str] = set()
        self._answers: list[str] = []
        self.prompts: list[dict[str, Any]] = []
        self.unclaimed: list[dict[str, Any]] = []
        self.manager = KernelManager(kernel_name=kernel)
        self.manager.start_kernel(env=full, cwd=str(cwd or self.home / "home"))
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=DEADLINE)
        except BaseException:
            self.close()
            raise
        self._poller = zmq.Poller()
        self._channels = {
            channel.socket: name
            for name, channel in (
                ("shell", self.client.shell_channel),
                ("control", self.client.control_channel),
                ("iopub", self.client.iopub_channel),
                ("stdin", self.client.stdin_channel),
            )
        }
        for socket in self._channels:
            self._poller.register(socket, zmq.POLLIN)

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Cells.

    def begin(self, code: str, **options: Any) -> Cell:
        """Sends the cell and returns at once."""
        options.setdefault("allow_stdin", False)
        msg_id = self.client.execute(code, **options)
        cell = Cell(self, code, msg_id)
        self._cells[msg_id] = cell
        return cell

    def run(self, code: str, *, answers: tuple[str, ...] = (), timeout: float = DEADLINE, **options: Any) -> Cell:
        """Runs the cell to its end, whatever it is; answers are given to what it asks on stdin."""
        self._answers = list(answers)
        if answers:
            options["allow_stdin"] = True
        return self.begin(code, **options).finish(timeout)

    def ok(self, code: str, **options: Any) -> Cell:
        return self.run(code, **options).ok()

    def fails(self, code: str, **options: Any) -> Cell:
        return self.run(code, **options).failed()

    # Other requests.

    def ask(self, msg_type: str, content: dict[str, Any], *, channel: str = "shell", timeout: float = DEADLINE) -> dict[str, Any]:
        """Sends a request and gives the content of its reply, after its idle status came."""
        message = self.client.session.msg(msg_type, content)
        getattr(self.client, f"{channel}_channel").send(message)
        msg_id = message["header"]["msg_id"]
        self.read_until(
            lambda: msg_id in self._replies and msg_id in self._idle, timeout, lambda: f"the reply to {msg_type}"
        )
        return self._replies.pop(msg_id)["content"]

    def interrupt(self) -> None:
        """Presses the interrupt button: an interrupt_request on the control channel."""
        reply = self.ask("interrupt_request", {}, channel="control")
        assert reply["status"] == "ok", reply

    def restart(self) -> None:
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=DEADLINE)

    # Processes.

    @property
    def pid(self) -> int:
        return self.manager.provisioner.process.pid

    def processes(self, role: str = "") -> list[processes.Process]:
        found = processes.marked(self.mark)
        return [p for p in found if p.role == role] if role else found

    def session_pid(self) -> int:
        (session,) = self.processes("session")
        return session.pid

    def close(self) -> None:
        """Shuts the kernel down as a Jupyter server does, and sees to it that nothing stays."""
        try:
            self.client.stop_channels()
            if self.manager.has_kernel:
                self.manager.shutdown_kernel(now=False)
            left = processes.wait_none(self.mark, (), timeout=20)
            processes.kill([p.pid for p in left])
            assert not left, f"processes outlived the kernel: {left}"
        finally:
            self.manager.cleanup_resources()
            self._folder.cleanup()

    # Reading.

    def read_until(self, condition: Callable[[], Any], timeout: float, what: Callable[[], str]) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"waited {timeout:g} s for {what()}")
            ready = dict(self._poller.poll(min(left, 1.0) * 1000))
            if not ready and not self.manager.is_alive():
                raise RuntimeError(f"the kernel process ended while waiting for {what()}")
            # iopub first: what a cell shows was sent before its reply.
            for socket, name in sorted(self._channels.items(), key=lambda item: item[1] != "iopub"):
                while socket in ready:
                    try:
                        _, message = self.client.session.recv(socket, mode=zmq.NOBLOCK)
                    except zmq.Again:
                        break
                    if message is None:
                        break
                    self._take(name, message)

    def _take(self, channel: str, message: dict[str, Any]) -> None:
        parent = message["parent_header"].get("msg_id", "")
        cell = self._cells.get(parent)
        if channel == "stdin":
            self.prompts.append(message["content"])
            assert self._answers, f"unexpected question on stdin: {message['content']}"
            self.client.input(self._answers.pop(0))
        elif channel in ("shell", "control"):
            if cell is not None and message["msg_type"] == "execute_reply":
                cell.reply = message["content"]
                cell.replied_at = time.monotonic()
            else:
                self._replies[parent] = message
        elif cell is not None:
            cell.messages.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                cell.idle = True
        else:
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                self._idle.add(parent)
            self.unclaimed.append(message)
