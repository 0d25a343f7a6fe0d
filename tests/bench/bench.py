"""Measures the budgets of docs/design.md and prints them in one table.

    python tests/bench/bench.py [--quick] [--json FILE]

Every figure stands beside a named peer that was measured in the same run on the same machine, since an
absolute time says little about another machine. Nothing here passes or fails; the column "budget" says
what the design asks for, the last one whether it was met.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import processes  # noqa: E402
from harness.notebook import Notebook  # noqa: E402

MEGABYTE = 1 << 20


@dataclass
class Figure:
    what: str
    ours: str
    peer: str
    ratio: str
    budget: str
    met: str


def median_time(action: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


# Run latency.


def mpirun_true(times: int) -> float | None:
    mpirun = shutil.which("mpirun")
    if not mpirun:
        return None
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [mpirun, "--oversubscribe", "-np", "4", "true"]
    return median_time(lambda: subprocess.run(command, check=True, env=env, capture_output=True), times)


def latency(notebook: Notebook, times: int) -> list[Figure]:
    notebook.ok("%%run -np 4\n1")
    ours = median_time(lambda: notebook.ok("%%run -np 4\n1"), times)
    peer = mpirun_true(times)
    figures = []
    if peer is None:
        figures.append(Figure("%%run -np 4 of a trivial cell", ms(ours), "mpirun is not here", "", "mpirun + 50 ms", "?"))
    else:
        figures.append(
            Figure(
                "%%run -np 4 of a trivial cell, round trip",
                ms(ours),
                f"mpirun -np 4 true: {ms(peer)}",
                f"{ours / peer:.2f}",
                "mpirun + 50 ms",
                verdict(ours <= peer + 0.05),
            )
        )
    cell = median_time(lambda: notebook.ok("1"), times)
    figures.append(Figure("a trivial cell without %%run, round trip", ms(cell), f"with %%run -np 4: {ms(ours)}", f"{cell / ours:.2f}", "", ""))
    return figures


# Worker start and memory.


def worker_start(notebook: Notebook, times: int) -> list[Figure]:
    few, many = 1, 9
    for ranks in (few, many):
        notebook.ok(f"%%run -np {ranks}\n1")
    short = median_time(lambda: notebook.ok(f"%%run -np {few}\n1"), times)
    long = median_time(lambda: notebook.ok(f"%%run -np {many}\n1"), times)
    each = (long - short) / (many - few)
    cores = os.cpu_count() or 1
    true = shutil.which("true") or "/bin/true"
    bare = median_time(lambda: subprocess.run([true], check=True), 50)
    start = Figure(
        f"each further worker of a run ({cores} cores)",
        ms(each),
        f"starting `true`: {ms(bare)}",
        f"{each / bare:.1f}",
        "10 ms",
        verdict(each < 0.010),
    )
    with tempfile.TemporaryDirectory() as folder:
        gate = Path(folder) / "gate"
        cell = notebook.begin(
            f'%%run -np 4\nfmt.Println("up")\nfor {{\n\tif _, err := os.Stat("{gate}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(time.Millisecond)\n}}'
        )
        cell.until(lambda c: c.stdout.count("up") == 4 or c.done, what="four ranks")
        used = [processes.peak_memory(process.pid) for process in notebook.processes("worker")]
        gate.touch()
        cell.finish().ok()
    python = python_memory()
    most = max(used)
    memory = Figure(
        "memory of a worker (peak resident)",
        f"{most / MEGABYTE:.1f} MB",
        f"a bare Python: {python / MEGABYTE:.1f} MB",
        f"{most / python:.2f}",
        "25 MB",
        verdict(most < 25 * MEGABYTE),
    )
    return [start, memory]


def python_memory() -> int:
    out = subprocess.run(
        [sys.executable, "-I", "-c", "print(open('/proc/self/status').read())"], check=True, capture_output=True, text=True
    ).stdout
    found = re.search(r"VmHWM:\s*(\d+) kB", out)
    assert found
    return int(found[1]) * 1024


# Payload.


def tls_speed(total: int) -> float:
    """Bytes a second through one TLS 1.3 connection over the loopback, by OpenSSL."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder) / "certificate", Path(folder) / "key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
            check=True,
            capture_output=True,
        )
        server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server_side.load_cert_chain(certificate, key)
    client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_side.check_hostname = False
    client_side.verify_mode = ssl.CERT_NONE
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        # A process of its own: two threads of one Python would wait for each other.
        raw, _ = listener.accept()
        block = bytes(MEGABYTE)
        with server_side.wrap_socket(raw, server_side=True) as connection:
            for _ in range(total // MEGABYTE):
                connection.sendall(block)
        os._exit(0)
    with listener, client_side.wrap_socket(socket.create_connection(listener.getsockname())) as connection:
        buffer = bytearray(MEGABYTE)
        received = connection.recv_into(buffer, 1)
        start = time.perf_counter()
        while received < total:
            received += connection.recv_into(buffer)
        taken = time.perf_counter() - start
    os.waitpid(server, 0)
    return total / taken


def payload(notebook: Notebook, times: int, size: int) -> list[Figure]:
    count = size // 8
    notebook.ok(f"payload := make([]float64, {count})\nfor i := 0; i < {count}; i += 1000 {{ payload[i] = float64(i) }}")
    notebook.ok("%%run -np 4\n1")
    idle = median_time(lambda: notebook.ok("%%run -np 4\n1"), times)
    peer = tls_speed(4 * size) if shutil.which("openssl") else None

    def figure(what: str, code: str, moved: int) -> Figure:
        taken = median_time(lambda: notebook.ok(code, timeout=600), times) - idle
        speed = moved / taken
        beside = f"one TLS stream: {peer / MEGABYTE:.0f} MB/s" if peer else "openssl is not here"
        return Figure(
            what,
            f"{speed / MEGABYTE:.0f} MB/s",
            beside,
            f"{speed / peer:.2f}" if peer else "",
            "500 MB/s",
            verdict(speed > 500 * MEGABYTE),
        )

    name = f"{size // MEGABYTE} MB of float64"
    return [
        figure(f"{name} captured by 4 ranks", "%%run -np 4\nlen(payload)", 4 * size),
        figure(f"{name} returned by 4 ranks", f"%%run -np 4 -o back\nmake([]float64, {count})", 4 * size),
        figure(f"{name} there and back", "%%run -np 4 -o back\npayload", 8 * size),
    ]


# Rendezvous.


def rendezvous(quick: bool) -> list[Figure]:
    if not shutil.which("go"):
        return [Figure("rendezvous, 16 to 256 ranks", "go is not here", "", "", "", "?")]
    out = subprocess.run(
        ["go", "test", "-run", "^$", "-bench", "^BenchmarkRanks$", "-benchtime", "3x" if quick else "10x", "./rendezvous"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    taken = {
        int(ranks): float(ns) / 1e9
        for ranks, ns in re.findall(r"^BenchmarkRanks/ranks=(\d+)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", out, re.M)
    }
    base = taken[16] / 16
    return [
        Figure(
            f"rendezvous alone, {ranks} ranks, cost a rank",
            ms(total / ranks),
            f"16 ranks: {ms(base)}",
            f"{total / ranks / base:.2f}",
            "2 times that of 16",
            verdict(total / ranks <= 2 * base),
        )
        for ranks, total in sorted(taken.items())
        if ranks >= 16
    ]


def print_table(figures: list[Figure]) -> None:
    rows = [("what", "gorovod", "beside", "ratio", "budget", ""), *(tuple(asdict(f).values()) for f in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, smaller payload")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file as well")
    options = parser.parse_args()
    times = 5 if options.quick else 21
    figures: list[Figure] = []
    with Notebook() as notebook:
        for measure in (
            lambda: latency(notebook, times),
            lambda: worker_start(notebook, times),
            lambda: payload(notebook, 3 if options.quick else 7, (16 if options.quick else 100) * MEGABYTE),
        ):
            figures += measure()
    figures += rendezvous(options.quick)
    print_table(figures)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(f) for f in figures], indent=1) + "\n")


if __name__ == "__main__":
    main()
