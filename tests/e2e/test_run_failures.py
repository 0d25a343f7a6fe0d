"""%%run when things go wrong: the root cause first, the others stopped, the notebook usable."""

from __future__ import annotations

import os
import re
import resource
import signal
import time
from pathlib import Path

import pytest

from harness import processes
from harness.notebook import Cell, Notebook
from harness.runs import best_of, by_rank, shown


@pytest.fixture
def nb(shared_notebook):
    yield shared_notebook
    assert not shared_notebook.processes("worker"), "a worker outlived its run"
    assert not shared_notebook.processes("agent"), "an agent outlived its run"


def pids_of_ranks(cell: Cell) -> dict[int, int]:
    """Reads the lines `pid N` of a cell's ranks."""
    pids = {}
    for rank, lines in by_rank(cell.stdout).items():
        for line in lines:
            if found := re.fullmatch(r"pid (\d+)", line):
                pids[rank] = int(found[1])
    return pids


def begin_and_wait(nb: Notebook, size: int, code: str, flags: str = "") -> tuple[Cell, dict[int, int]]:
    cell = nb.begin(f'%%run -np {size} {flags}\nfmt.Println("pid", os.Getpid())\n{code}')
    cell.until(lambda c: len(pids_of_ranks(c)) == size or c.done, what=f"{size} ranks that run")
    assert not cell.done, cell
    return cell, pids_of_ranks(cell)


def test_a_panic_ends_the_run_at_once_with_its_cause_first(nb: Notebook):
    def measure() -> float:
        cell = nb.fails(
            "%%run -np 4\n"
            "func give(up bool) {\n"
            "\tif up {\n"
            '\t\tfmt.Println("at", time.Now().UnixNano())\n'
            '\t\tpanic("rank two gives up")\n'
            "\t}\n"
            "}\n"
            "give(hvd.Rank() == 2)\n"
            "time.Sleep(60 * time.Second)\n"
        )
        ended = time.time()
        number = cell.reply["execution_count"]
        text = cell.error_text
        head = text[: text.index("rank two gives up")]
        assert re.search(r"rank 2\b", head + text.splitlines()[0]), cell
        assert not re.search(r"rank [013]\b", head), "another rank is named before the cause"
        assert f"cell[{number}]:5" in text and f"cell[{number}]:8" in text
        first = text.index(f"cell[{number}]:5")
        assert all(text.find(f"rank {other}") in (-1, *range(first, len(text))) for other in (0, 1, 3))
        panicked = int(by_rank(cell.stdout)[2][0].split()[1]) / 1e9
        return ended - panicked

    best_of(4, 0.5, measure)
    assert nb.ok("1 + 1").result == "2"


def test_the_notebook_keeps_its_variables_after_a_failed_run(nb: Notebook):
    nb.ok("kept := 5")
    session = nb.session_pid()
    nb.fails('%%run -np 2 -o never\npanic("no")')
    assert nb.ok("kept").result == "5"
    assert nb.session_pid() == session
    assert "undefined: never" in nb.fails("never").error_text


def test_a_panic_in_a_goroutine_of_a_rank(nb: Notebook):
    cell = nb.fails('%%run -np 3\nif hvd.Rank() == 1 {\n\tgo func() {\n\t\tpanic("in the background")\n\t}()\n}\ntime.Sleep(time.Hour)')
    assert "in the background" in cell.error_text and "rank 1" in cell.error_text
    assert f"cell[{cell.reply['execution_count']}]:4" in cell.error_text


def test_a_returned_error(nb: Notebook):
    cell = nb.fails('%%run -np 3\nfunc f() (int, error) { if hvd.Rank() == 1 { return 0, fmt.Errorf("no luck: %w", io.ErrUnexpectedEOF) }; select {} }\nf()')
    assert "no luck: unexpected EOF" in cell.error_text and "rank 1" in cell.error_text


def test_a_rank_killed_by_a_signal(nb: Notebook):
    cell, pids = begin_and_wait(nb, 3, 'fmt.Fprintln(os.Stderr, "famous last words")\ntime.Sleep(time.Hour)')
    cell.until(lambda c: len(by_rank(c.stderr)) == 3, what="stderr of each rank")
    os.kill(pids[1], signal.SIGKILL)
    text = cell.finish().failed().error_text
    assert "rank 1" in text and re.search(r"SIGKILL|killed", text), cell
    assert "famous last words" in text, "the last lines on stderr are shown"
    assert "memory" in text, "a kill is often the out-of-memory killer's: the message says so"


def test_a_rank_that_aborts(nb: Notebook):
    cell, pids = begin_and_wait(nb, 2, "time.Sleep(time.Hour)")
    os.kill(pids[0], signal.SIGSEGV)
    text = cell.finish().failed().error_text
    assert "rank 0" in text and re.search(r"SIGSEGV|segmentation", text), cell


@pytest.mark.parametrize("status", [0, 7])
def test_a_rank_that_exits(nb: Notebook, status):
    cell = nb.fails(f"%%run -np 3\nif hvd.Rank() == 1 {{\n\tos.Exit({status})\n}}\ntime.Sleep(time.Hour)")
    text = cell.error_text
    assert "rank 1" in text
    assert re.search(rf"exit\w*.*\b{status}\b|Exit\({status}\)", text), cell
    if status == 0:
        assert re.search(r"without (giving |returning )?a result|no result", text), cell


@pytest.mark.parametrize("call, message", [('log.Fatal("fatal words")', "fatal words"), ("runtime.Goexit()", "Goexit")])
def test_other_ways_to_leave(nb: Notebook, call, message):
    cell = nb.fails(f"%%run -np 2\nif hvd.Rank() == 1 {{\n\t{call}\n}}\nselect {{}}")
    assert "rank 1" in cell.error_text and message in shown(cell)


def test_a_rank_that_runs_out_of_its_memory_limit(nb: Notebook, tmp_path):
    gate = tmp_path / "gate"
    cell, pids = begin_and_wait(
        nb,
        2,
        f'for {{\n\tif _, err := os.Stat("{gate}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(time.Millisecond)\n}}\n'
        "var hoard [][]byte\n"
        "for hvd.Rank() == 1 { hoard = append(hoard, make([]byte, 64<<20)) }\n"
        "time.Sleep(time.Hour)",
    )
    used = next(
        int(line.split()[1]) * 1024
        for line in Path(f"/proc/{pids[1]}/status").read_text().splitlines()
        if line.startswith("VmSize:")
    )
    limit = used + (1 << 30)
    resource.prlimit(pids[1], resource.RLIMIT_AS, (limit, limit))
    gate.touch()
    text = cell.finish().failed().error_text
    assert "rank 1" in text and "out of memory" in text, cell


def test_a_stack_overflow_in_a_rank(nb: Notebook):
    cell = nb.fails("%%run -np 2\nfunc deep(n int) int { return deep(n+1) + 1 }\nif hvd.Rank() == 1 { deep(0) }\nselect {}")
    assert "rank 1" in cell.error_text and re.search("stack (overflow|exceeds)", cell.error_text)


def test_several_failures_are_folded(nb: Notebook):
    cell = nb.fails('%%run -np 8\npanic("all together now")')
    assert 1 <= cell.error_text.count("all together now") <= 3, "the same failure of many ranks is told once"
    assert len(cell.error_text.splitlines()) < 40


def test_a_worker_that_never_gets_ready_is_named(nb: Notebook):
    """Stops one of the workers while it starts; the others get ready."""
    for _ in range(20):
        cell = nb.begin('%%run -np 16 --start-timeout 3s\nfmt.Println("rank", hvd.Rank())\ntime.Sleep(time.Hour)')
        stopped = stop_first_worker(nb)
        cell.until(lambda c: c.done or len(by_rank(c.stdout)) == 16, what="the start or its time-out")
        if cell.done:
            break
        # It had got ready before it was stopped: once more.
        os.kill(stopped, signal.SIGCONT)
        nb.interrupt()
        cell.finish()
    text = cell.finish().failed().error_text
    assert "3s" in text, cell
    named = set(re.findall(r"rank (\d+)", text))
    assert len(named) == 1, f"only the rank that is late is named: {text}"
    started = {str(rank) for rank in by_rank(cell.stdout)}
    assert not named & started, f"the rank named had started: {text}"


def stop_first_worker(nb: Notebook) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for process in processes.of_role(nb.mark, "worker"):
            os.kill(process.pid, signal.SIGSTOP)
            return process.pid
    raise TimeoutError("no worker was started")


def test_a_start_timeout_that_nothing_can_meet(nb: Notebook):
    cell = nb.fails("%%run -np 4 --start-timeout 1us\n1")
    assert re.search(r"start|ready", cell.error_text) and "rank" in cell.error_text
