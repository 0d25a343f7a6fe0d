"""The rendezvous server against strangers; where the token is and where it is not."""

from __future__ import annotations

import base64
import os
import socket
import stat
import time
from pathlib import Path

import psutil
import pytest

from conftest import missing
from harness import processes
from harness.notebook import Cell, Notebook
from harness.rendezvous import connect, listening_port, read_answer, request, tokens

# Rank 0 gives its result at once; the others wait for the gate and then print and return a lot.
GUARDED = """%%run -np 4 -o guarded
if hvd.Rank() > 0 {{
	fmt.Println("waiting")
	for {{
		if _, err := os.Stat("{gate}"); err == nil {{
			break
		}}
		time.Sleep(time.Millisecond)
	}}
}}
for i := range 2000 {{
	fmt.Println("line", i)
}}
big := make([]float64, 1<<17)
big[len(big)-1] = float64(hvd.Rank())
big
"""


class Guarded:
    """A run that waits, and that must lose nothing whatever is done to its server meanwhile."""

    def __init__(self, notebook: Notebook, gate: Path):
        self.notebook = notebook
        self.gate = gate
        self.cell: Cell = notebook.begin(GUARDED.format(gate=gate))
        self.cell.until(lambda c: c.stdout.count("waiting") == 3 or c.done, what="three waiting ranks")
        assert not self.cell.done, self.cell
        self.port = listening_port(notebook)

    def token(self) -> bytes:
        try:
            found = {t for t in tokens(self.notebook) if request(self.port, "GET", "/v1/ranks/1", token=t).status == 200}
        except PermissionError as error:
            missing(f"the memory of another process cannot be read here: {error}")
        assert found, "no token was found in the memory of the run's processes"
        return found.pop()

    def loses_nothing(self) -> None:
        self.gate.touch()
        self.cell.finish(300).ok()
        lines = self.cell.stdout.splitlines()
        for rank in range(4):
            assert [line for line in lines if line.startswith(f"[{rank}] line")] == [f"[{rank}] line {i}" for i in range(2000)]
        check = "fmt.Sprint(len(guarded), len(guarded[3]), guarded[0][1<<17-1], guarded[3][1<<17-1])"
        assert self.notebook.ok(check).result == "4 131072 0 3"


@pytest.fixture
def guarded(start_notebook, tmp_path):
    return Guarded(start_notebook(), tmp_path / "gate")


def test_wrong_tokens_and_unknown_routes(guarded: Guarded):
    port = guarded.port
    for token in (None, b"", b"wrong", b"x" * 10_000):
        for method, path in (
            ("GET", "/v1/program"),
            ("GET", "/v1/ranks/1"),
            ("PUT", "/v1/ranks/1/result"),
            ("POST", "/v1/ranks/1/output"),
            ("PUT", "/v1/kv/a/b"),
        ):
            answer = request(port, method, path, token=token, body=b"x" if method != "GET" else b"")
            assert answer.status in ((401,) if len(token or b"") < 5000 else (401, 431)), (method, path, token, answer)
            if answer.status == 401:
                assert answer.headers["content-type"].startswith("application/problem+json")
    assert request(port, "GET", "/healthz").status == 401
    assert request(port, "GET", "/healthz", token=guarded.token()).status == 200
    for path in ("/", "/v2/program", "/v1", "/v1/nothing", "/v1/ranks/1/nothing", "/../etc/passwd"):
        assert request(port, "GET", path).status in (401, 404), path
    guarded.loses_nothing()


def test_requests_of_one_who_has_the_token(guarded: Guarded):
    port, token = guarded.port, guarded.token()
    for path, status in (
        ("/v1/nothing", 404),
        ("/v1/ranks/99", 404),
        ("/v1/ranks/minus", (400, 404)),
        ("/v1/ranks/18446744073709551616", (400, 404)),
        ("/v1/kv/none/there", 404),
        ("/v1/kv/none/there?wait=sideways", 400),
    ):
        answer = request(port, "GET", path, token=token)
        assert answer.status in (status if isinstance(status, tuple) else (status,)), (path, answer)
        assert answer.headers["content-type"].startswith("application/problem+json"), (path, answer)
    assert request(port, "DELETE", "/v1/program", token=token).status == 405
    # Rank 0 has given its result when its process has ended.
    processes.wait_at_most(guarded.notebook.mark, "worker", 3, timeout=60)
    second = request(port, "PUT", "/v1/ranks/0/result", token=token, body=b"\xf6")
    assert second.status == 409, second
    assert request(port, "PUT", "/v1/ranks/0/failure", token=token, body=b'{"kind":"panic","message":"forged"}').status == 409
    assert request(port, "PUT", "/v1/ranks/1/failure", token=token, body=b"{not json").status == 400
    guarded.loses_nothing()


def test_ten_gigabytes_of_content_length(guarded: Guarded):
    port = guarded.port
    before = processes.peak_memory(guarded.notebook.pid)
    assert request(port, "PUT", "/v1/ranks/1/result", token=b"wrong", length=10 << 30).status == 401
    for path in ("/v1/ranks/1/result", "/v1/ranks/1/failure", "/v1/kv/a/b"):
        answer = request(port, "PUT", path, token=guarded.token(), length=10 << 30)
        assert answer.status == 413, (path, answer)
    assert processes.peak_memory(guarded.notebook.pid) < before + (256 << 20)
    guarded.loses_nothing()


def test_clients_that_send_one_byte_a_second(guarded: Guarded):
    """Sends the first bytes of a request on many connections and no more: the run goes on meanwhile."""
    slow = [connect(guarded.port) for _ in range(50)]
    raw = [socket.create_connection(("127.0.0.1", guarded.port)) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(b"G")
        for connection in raw:
            connection.sendall(b"\x16")
        for _ in range(3):
            # A byte each second, as such a client does; nothing is asserted about the time.
            time.sleep(1)
            for connection in slow:
                connection.sendall(b"E")
        assert request(guarded.port, "GET", "/healthz", token=guarded.token()).status == 200
        guarded.loses_nothing()
    finally:
        for connection in (*slow, *raw):
            connection.close()


def test_a_slow_body_with_the_token(guarded: Guarded):
    with connect(guarded.port) as connection:
        head = (
            b"PUT /v1/kv/slow/key HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
            b"Authorization: Bearer " + guarded.token() + b"\r\n\r\n"
        )
        connection.sendall(head + b"a")
        guarded.loses_nothing()


def test_a_thousand_idle_connections(guarded: Guarded):
    idle: list[socket.socket] = []
    try:
        for _ in range(1000):
            idle.append(socket.create_connection(("127.0.0.1", guarded.port), timeout=30))
        assert request(guarded.port, "GET", "/healthz", token=guarded.token(), timeout=60).status == 200
        guarded.loses_nothing()
    finally:
        for connection in idle:
            connection.close()


def test_garbage(guarded: Guarded):
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=30) as plain:
        plain.sendall(b"GET /v1/program HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" not in plain.recv(4096).split(b"\r\n")[0]
    for garbage in (b"\0" * 4096, b"GET / HTTP/9.9\r\n\r\n", b"A" * 100_000 + b"\r\n\r\n", b"PUT /v1/ranks/1/result HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n"):
        with connect(guarded.port) as connection:
            try:
                connection.sendall(garbage)
                assert read_answer(connection).status >= 400
            except (OSError, IndexError):
                pass  # The server may also just hang up.
    guarded.loses_nothing()


# Where the token is.


def encodings(token: bytes) -> list[bytes]:
    forms = [token, token.hex().encode(), base64.b64encode(token)]
    return [form.rstrip(b"=") for form in forms]


def readable_by_others(path: Path) -> bool:
    """Whether a user who is neither owner nor of the group can read the file."""
    try:
        if not path.is_file() or not path.stat().st_mode & stat.S_IROTH:
            return False
        return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents)
    except OSError:
        return False


def test_the_token_is_in_no_argument_list_and_in_no_readable_file(guarded: Guarded):
    token = guarded.token()
    assert len(token) >= 32
    forms = encodings(token)
    for pid, cmdline in processes.all_cmdlines().items():
        assert not any(form in cmdline for form in forms), f"process {pid}: {cmdline!r}"
    for process in guarded.notebook.processes():
        environ = Path(f"/proc/{process.pid}/environ")
        assert not any(form in environ.read_bytes() for form in forms), f"environment of {process}"
    places = [guarded.notebook.home, Path("/dev/shm"), Path("/run/user"), Path("/tmp"), Path("/var/tmp")]
    for place in places:
        for folder, folders, names in os.walk(place):
            # Other tests' folders and Go's build cache have nothing of this run.
            folders[:] = [f for f in folders if not f.startswith("go-build")]
            for path in (Path(folder) / name for name in names):
                try:
                    if not path.is_file() or path.stat().st_size > 64 << 20:
                        continue
                    if path.stat().st_mtime < time.time() - 3600:
                        continue
                    content = path.read_bytes()
                except OSError:
                    continue
                if any(form in content for form in forms):
                    assert not readable_by_others(path), f"{path} holds the token for everyone to read"
    guarded.loses_nothing()


def test_the_server_listens_on_the_loopback_only(guarded: Guarded):
    for connection in psutil.Process(guarded.notebook.pid).net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == guarded.port:
            assert connection.laddr.ip in ("127.0.0.1", "::1")
    guarded.loses_nothing()


def test_no_proxy_is_ever_used(start_notebook, tmp_path):
    refused = "http://127.0.0.1:1"
    nb = start_notebook(env={name: refused for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")})
    nb.ok("%%run -np 2 -o through\nhvd.Rank()")
    assert nb.ok("through").result == "[0 1]"
