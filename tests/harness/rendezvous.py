"""The rendezvous server of a run, as a stranger on the machine sees it."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass

import psutil

from . import processes
from .notebook import Notebook

_BEARER = re.compile(rb"Bearer ([A-Za-z0-9_\-+/=.]{20,})")


def listening_port(notebook: Notebook) -> int:
    """The port that the kernel listens on beside those of the Jupyter channels."""
    jupyter = {
        value for key, value in notebook.manager.get_connection_info().items() if key.endswith("_port")
    }
    ports = {
        connection.laddr.port
        for connection in psutil.Process(notebook.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    } - jupyter
    (port,) = ports
    return port


def tokens(notebook: Notebook) -> set[bytes]:
    """Reads the run's token out of the memory of its processes, as only their owner can."""
    found: set[bytes] = set()
    for process in notebook.processes():
        if process.role in ("agent", "worker", "kernel"):
            found |= processes.search_memory(process.pid, _BEARER)
    return found


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def connect(port: int, timeout: float = 30) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=timeout))


def request(
    port: int,
    method: str,
    path: str,
    *,
    token: bytes | None = None,
    headers: tuple[str, ...] = (),
    body: bytes = b"",
    length: int | None = None,
    timeout: float = 30,
) -> Answer:
    """Sends one request by hand, as malformed as asked, and reads the answer."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    if token is not None:
        lines.append(f"Authorization: Bearer {token.decode()}")
    if body or length is not None:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    with connect(port, timeout) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return read_answer(connection)


def read_answer(connection: ssl.SSLSocket) -> Answer:
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
            head, separator, rest = received.partition(b"\r\n\r\n")
            if separator and (size := re.search(rb"(?i)content-length: (\d+)", head)) and len(rest) >= int(size[1]):
                break
    except (ConnectionResetError, ssl.SSLEOFError):
        pass
    head, _, body = received.partition(b"\r\n\r\n")
    first, *fields = head.decode().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
    return Answer(int(first.split()[1]), headers, body)
