"""Interrupt and sudden death: every rank stops, no process stays, the next cell runs."""

from __future__ import annotations

import os
import signal
import time

import pytest

from harness import processes
from harness.notebook import Notebook
from harness.runs import best_of

# What a cell may be doing when the button is pressed. The last one is native code that calls back
# into the interpreter, which cannot stop it.
OCCUPATIONS = {
    "busy loop": "for {\n}",
    "busy loop with work": "n := 0\nfor {\n\tn++\n}",
    "sleep": "time.Sleep(time.Hour)",
    "blocked channel": "<-make(chan int)",
    "select": "select {}",
    "mutex": "var m sync.Mutex\nm.Lock()\nm.Lock()",
    "read of a pipe": "r, _, _ := os.Pipe()\nr.Read(make([]byte, 1))",
    "native sort": "sort.Slice(numbers, func(a, b int) bool { return numbers[a] < numbers[b] })",
}


def code_of(occupation: str) -> str:
    prepare = "numbers := rand.Perm(10_000_000)\n" if "sort" in occupation else ""
    return prepare + 'fmt.Println("busy")\n' + OCCUPATIONS[occupation]


@pytest.mark.parametrize("occupation", OCCUPATIONS)
def test_interrupt_of_a_run(shared_notebook: Notebook, occupation):
    nb = shared_notebook
    nb.ok("kept := 3")
    session = nb.session_pid()

    def measure() -> float:
        size = 2 if "sort" in occupation else 4
        cell = nb.begin(f"%%run -np {size}\n{code_of(occupation)}")
        cell.until(lambda c: c.stdout.count("busy") == size or c.done, what="all ranks busy")
        assert not cell.done, cell
        pressed = time.monotonic()
        nb.interrupt()
        cell.finish().failed()
        assert "interrupt" in cell.error_text.lower()
        assert not processes.wait_none(nb.mark, ("worker", "agent"), timeout=1)
        return cell.replied_at - pressed

    best_of(3, 1.0, measure)
    assert nb.ok("kept").result == "3"
    assert nb.session_pid() == session


@pytest.mark.parametrize("occupation", OCCUPATIONS)
def test_interrupt_of_a_cell(shared_notebook: Notebook, occupation):
    nb = shared_notebook
    nb.ok("func declared() int { return 8 }")

    def measure() -> float:
        nb.ok("keptOrLost := 3")
        session = nb.session_pid()
        cell = nb.begin(code_of(occupation)).until_stdout("busy")
        assert not cell.done, cell
        pressed = time.monotonic()
        nb.interrupt()
        cell.finish().failed()
        assert "interrupt" in cell.error_text.lower()
        took = cell.replied_at - pressed
        assert nb.ok("declared()").result == "8"
        if nb.session_pid() == session:
            assert nb.ok("keptOrLost").result == "3"
        else:
            assert "keptOrLost" in cell.error_text, "a replaced session names what was lost"
            nb.fails("keptOrLost")
        return took

    best_of(3, 1.0, measure)


def test_interrupt_by_the_client_library(shared_notebook: Notebook):
    nb = shared_notebook
    cell = nb.begin('fmt.Println("busy")\ntime.Sleep(time.Hour)').until_stdout("busy")
    nb.manager.interrupt_kernel()
    assert "interrupt" in cell.finish().failed().error_text.lower()


def test_interrupt_when_nothing_runs(shared_notebook: Notebook):
    nb = shared_notebook
    nb.ok("still := 4")
    nb.interrupt()
    assert nb.ok("still").result == "4"


def test_interrupt_stops_run_all(shared_notebook: Notebook):
    nb = shared_notebook
    first = nb.begin('%%run -np 2\nfmt.Println("busy")\ntime.Sleep(time.Hour)')
    waiting = nb.begin('fmt.Println("must not run")')
    first.until(lambda c: c.stdout.count("busy") == 2, what="both ranks busy")
    nb.interrupt()
    first.finish().failed()
    assert waiting.finish().stdout == ""
    assert nb.ok("1").result == "1"


def test_interrupt_during_the_start(shared_notebook: Notebook):
    nb = shared_notebook
    cell = nb.begin("%%run -np 16\ntime.Sleep(time.Hour)")
    cell.until(lambda c: c.contents("execute_input"), what="the start of the cell")
    nb.interrupt()
    cell.finish().failed()
    assert not processes.wait_none(nb.mark, ("worker", "agent"), timeout=5)


def test_interrupt_reaches_children_of_the_ranks(shared_notebook: Notebook):
    nb = shared_notebook
    cell = nb.begin('%%run -np 2\nfmt.Println("busy")\nexec.Command("sleep", "3600").Run()')
    cell.until(lambda c: c.stdout.count("busy") == 2, what="both ranks busy")
    nb.interrupt()
    cell.finish().failed()
    deadline = time.monotonic() + 5
    sleepers = [p for p in nb.processes() if p.argv[0].endswith("sleep")]
    processes.wait_gone([p.pid for p in sleepers], deadline - time.monotonic())
    assert not [p for p in nb.processes() if p.argv[0].endswith("sleep")]


@pytest.mark.parametrize(
    "code, size",
    [
        ("time.Sleep(time.Hour)", 4),
        ("for {\n}", 2),
        ('exec.Command("sleep", "3600").Run()', 2),
    ],
    ids=["sleep", "busy loop", "child"],
)
def test_kill_of_the_kernel_leaves_no_process(start_notebook, code, size):
    def measure() -> float:
        nb = start_notebook()
        nb.ok('go func() { for { time.Sleep(time.Millisecond) } }()')
        cell = nb.begin(f'%%run -np {size}\nfmt.Println("busy")\n{code}')
        cell.until(lambda c: c.stdout.count("busy") == size, what="all ranks busy")
        assert len(nb.processes("worker")) == size
        killed = time.monotonic()
        os.kill(nb.pid, signal.SIGKILL)
        left = processes.wait_none(nb.mark, (), timeout=30)
        assert not left, f"left behind: {left}"
        return time.monotonic() - killed

    best_of(3, 2.0, measure)


def test_kill_of_the_kernel_while_the_session_works(start_notebook):
    nb = start_notebook()
    nb.begin('fmt.Println("busy")\nfor {\n}').until_stdout("busy")
    os.kill(nb.pid, signal.SIGKILL)
    assert not processes.wait_none(nb.mark, (), timeout=2)


def test_kill_of_the_agent_ends_the_run(shared_notebook: Notebook):
    nb = shared_notebook
    cell = nb.begin('%%run -np 2\nfmt.Println("busy")\ntime.Sleep(time.Hour)')
    cell.until(lambda c: c.stdout.count("busy") == 2, what="both ranks busy")
    (agent,) = nb.processes("agent")
    os.kill(agent.pid, signal.SIGKILL)
    cell.finish().failed()
    assert "agent" in cell.error_text
    assert not processes.wait_none(nb.mark, ("worker",), timeout=2)
