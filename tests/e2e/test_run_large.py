"""%%run: large results are right, and cost the driver no more than three times their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import missing
from harness import processes
from harness.notebook import Notebook

MEGABYTE = 1 << 20


def memory_available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def fill(count: int) -> str:
    """Code that makes count float64 values, each telling its place at some known spots."""
    return (
        f"numbers := make([]float64, {count})\n"
        "for i := 0; i < len(numbers); i += len(numbers) / 64 { numbers[i] = float64(i + hvd.Rank()) }\n"
        "numbers[len(numbers)-1] = math.Inf(-1 + 2*hvd.Rank())\n"
    )


def check(name: str, count: int, rank: int) -> str:
    return (
        f"right := len({name}[{rank}]) == {count} && math.IsInf({name}[{rank}][{count}-1], {1 if rank else -1})\n"
        f"for i := 0; i < {count}-1; i += {count} / 64 {{ right = right && {name}[{rank}][i] == float64(i + {rank}) }}\n"
        "right"
    )


@pytest.mark.parametrize("size, ranks", [(MEGABYTE, 2), (MEGABYTE, 8), (1024 * MEGABYTE, 1)], ids=["2 x 1 MB", "8 x 1 MB", "1 GB"])
def test_large_results(start_notebook, size, ranks):
    if memory_available() < 6 * size * ranks:
        missing(f"{6 * size * ranks >> 20} MB of memory are needed")
    nb: Notebook = start_notebook()
    nb.ok("%run -np 1 -o warm 1")
    count = size // 8
    base = {pid: processes.peak_memory(pid) for pid in (nb.pid, nb.session_pid())}
    nb.ok(f"%%run -np {ranks} -o large\n{fill(count)}numbers", timeout=300)
    grown = {pid: processes.peak_memory(pid) - at_first for pid, at_first in base.items()}
    for rank in range(ranks):
        assert nb.ok(check("large", count, rank)).result == "true"
    total = size * ranks
    print(f"{total >> 20} MB: kernel +{grown[nb.pid] >> 20} MB, session +{grown[nb.session_pid()] >> 20} MB")
    # What a small run moves beside its result is not what is measured here.
    spare = 48 * MEGABYTE
    assert sum(grown.values()) <= 3 * total + spare, grown


def test_a_large_capture(start_notebook):
    nb: Notebook = start_notebook()
    count = 100 * MEGABYTE // 8
    nb.ok(f"captured := make([]float64, {count})\ncaptured[{count}-1] = 5")
    cell = nb.ok(f"%%run -np 4 -o last\ncaptured[{count}-1] + float64(hvd.Rank())", timeout=300)
    assert nb.ok("last").result == "[5 6 7 8]"
    assert "captured" in str(cell.messages), "a capture over 64 MiB is named"
