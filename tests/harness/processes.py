"""Processes seen from outside, through /proc."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Every process that a notebook of the tests starts inherits this variable, also one that left its
# process group or lost its parent.
MARK = "GOROVOD_TEST_MARK"


@dataclass(frozen=True)
class Process:
    pid: int
    argv: tuple[str, ...]

    @property
    def role(self) -> str:
        """The subcommand of gorovod that the process runs; "" for another program."""
        if len(self.argv) > 1 and os.path.basename(self.argv[0]).startswith("gorovod"):
            return self.argv[1]
        return ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _alive(directory: Path) -> bool:
    """Tells a running process from a zombie, which only waits for its parent to look."""
    status = _read(directory / "stat")
    return bool(status) and status.rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])


def marked(mark: str) -> list[Process]:
    """The living processes that carry mark in their environment."""
    want = f"{MARK}={mark}".encode()
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit() or not _alive(directory):
            continue
        if want in _read(directory / "environ").split(b"\0"):
            argv = _read(directory / "cmdline").rstrip(b"\0").split(b"\0")
            found.append(Process(int(directory.name), tuple(part.decode(errors="replace") for part in argv)))
    return sorted(found, key=lambda process: process.pid)


def of_role(mark: str, role: str) -> list[Process]:
    return [process for process in marked(mark) if process.role == role]


def wait_gone(pids: list[int], timeout: float) -> list[int]:
    """Waits until the processes have ended; gives those that have not within timeout seconds."""
    deadline = time.monotonic() + timeout
    watched: dict[int, int] = {}
    for pid in pids:
        with suppress(ProcessLookupError):
            watched[os.pidfd_open(pid)] = pid
    poller = select.poll()
    for descriptor in watched:
        poller.register(descriptor, select.POLLIN)
    try:
        while watched:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for descriptor, _ in poller.poll(left * 1000):
                poller.unregister(descriptor)
                os.close(descriptor)
                del watched[descriptor]
        return sorted(watched.values())
    finally:
        for descriptor in watched:
            os.close(descriptor)


def wait_none(mark: str, roles: tuple[str, ...], timeout: float) -> list[Process]:
    """Waits until no marked process of one of the roles is left (all roles when none is given)."""
    deadline = time.monotonic() + timeout

    def left() -> list[Process]:
        return [p for p in marked(mark) if not roles or p.role in roles]

    remaining = left()
    while remaining and time.monotonic() < deadline:
        wait_gone([p.pid for p in remaining], deadline - time.monotonic())
        remaining = left()
    return remaining


def wait_at_most(mark: str, role: str, count: int, timeout: float) -> None:
    """Waits until no more than count marked processes of a role are left."""
    deadline = time.monotonic() + timeout
    while len(left := of_role(mark, role)) > count:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(f"{len(left)} processes {role!r} are left, not {count}: {left}")
        _wait_any([process.pid for process in left], seconds)


def _wait_any(pids: list[int], timeout: float) -> None:
    descriptors = []
    poller = select.poll()
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
        if len(descriptors) < len(pids):
            return
        for descriptor in descriptors:
            poller.register(descriptor, select.POLLIN)
        poller.poll(timeout * 1000)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def peak_memory(pid: int) -> int:
    """The most resident memory that the process ever had, in bytes (VmHWM)."""
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended: its peak memory is not known")


def all_cmdlines() -> dict[int, bytes]:
    """The argument lists of all processes of the machine, NUL-separated as the system keeps them."""
    lines = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            lines[int(directory.name)] = _read(directory / "cmdline")
    return lines


def search_memory(pid: int, pattern) -> set[bytes]:
    """All matches of the compiled pattern in the writable memory of a process; none in one that has ended."""
    found: set[bytes] = set()
    with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            fields = line.split()
            if not fields[1].startswith("rw"):
                continue
            if len(fields) > 5 and fields[5].startswith("[v"):
                continue
            low, high = (int(part, 16) for part in fields[0].split("-"))
            with suppress(OSError, OverflowError, ValueError):
                memory.seek(low)
                found.update(pattern.findall(memory.read(high - low)))
    return found
