"""%%run: every flag that concerns one machine."""

from __future__ import annotations

import re

import pytest

from harness.notebook import Notebook
from harness.runs import by_rank, shown

FLAGS = ["-np", "--num-proc", "-o", "--start-timeout", "--timeout", "--output-filename", "--env", "-v", "--dry-run", "--output"]


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


@pytest.mark.parametrize("spelling, size", [("-np 3", 3), ("-np=3", 3), ("--num-proc 3", 3), ("--num-proc=3", 3), ("", 1)])
def test_number_of_processes(nb: Notebook, spelling, size):
    nb.ok(f"%%run {spelling} -o sizes\nhvd.Size()")
    assert nb.ok("sizes").result == str([size] * size).replace(",", "")


@pytest.mark.parametrize("flags", ["-np 0", "-np -1", "-np x", "-np", "--output sideways", "--timeout soon", "-o 9x", "-o", "--env ="])
def test_bad_values_are_refused(nb: Notebook, flags):
    cell = nb.fails(f'%%run {flags}\nfmt.Println("started")')
    assert "started" not in cell.stdout
    word = flags.split()[0].lstrip("-")
    assert word in cell.error_text or "num-proc" in cell.error_text, cell


def test_unknown_flag_lists_the_known_ones(nb: Notebook):
    cell = nb.fails("%%run --nope\n1")
    assert "--nope" in cell.error_text
    for flag in FLAGS:
        assert flag in cell.error_text, flag


@pytest.mark.parametrize("flag", ["--hosts a:2", "-H a:2", "--hostfile f", "--mpi", "--ssh-port 22"])
def test_flags_of_many_hosts_are_not_there_yet(nb: Notebook, flag):
    assert flag.split()[0] in nb.fails(f"%%run {flag}\n1").error_text


@pytest.mark.parametrize("code", ["%%run --help", "%%run --help\n1", "%run --help"])
def test_help(nb: Notebook, code):
    text = shown(nb.ok(code))
    for flag in FLAGS:
        assert flag in text, flag


def test_timeout(nb: Notebook):
    cell = nb.fails('%%run -np 2 --timeout 1s\nfmt.Println("up")\ntime.Sleep(time.Hour)')
    assert "1s" in cell.error_text and re.search("time", cell.error_text, re.I)
    assert not nb.processes("worker")
    assert nb.ok("1 + 1").result == "2"


def test_output_filename(nb: Notebook, tmp_path):
    folder = tmp_path / "logs"
    nb.ok(f'%%run -np 11 --output-filename {folder}\nfmt.Println("out", hvd.Rank())\nfmt.Fprintln(os.Stderr, "err", hvd.Rank())')
    for rank in range(11):
        here = folder / f"rank.{rank:02}"
        assert (here / "stdout").read_text() == f"out {rank}\n"
        assert (here / "stderr").read_text() == f"err {rank}\n"


def test_output_filename_with_a_space(nb: Notebook, tmp_path):
    folder = tmp_path / "my logs"
    nb.ok(f'%%run --output-filename "{folder}"\nfmt.Println("x")')
    assert (folder / "rank.0" / "stdout").read_text() == "x\n"


def test_env(start_notebook):
    nb = start_notebook(env={"PASSED_ON": "from the kernel"})
    nb.ok('%%run -np 2 --env GIVEN="two words" --env PASSED_ON --env EMPTY= -o env\nfmt.Sprintf("%q %q", os.Getenv("GIVEN"), os.Getenv("PASSED_ON"))')
    assert nb.ok("env[1]").result == '"two words" "from the kernel"'


def test_verbose(nb: Notebook):
    text = shown(nb.ok("%%run -np 2 -v\n1"))
    assert len(re.findall(r"\d+(\.\d+)?\s?(µs|ms|s)\b", text)) >= 2, "no phases with their durations: " + text


def test_dry_run(nb: Notebook, tmp_path):
    path = tmp_path / "started"
    nb.ok("weights := make([]float64, 1000)\nfunc total() float64 { return weights[0] }\ntype unrelated int")
    text = shown(nb.ok(f'%%run -np 3 --dry-run\nos.WriteFile("{path}", nil, 0o600)\ntotal()'))
    assert not path.exists()
    for part in ("total", "weights", "3", "gorovod"):
        assert part in text, part
    assert re.search(r"8(\.\d+)? ?k|8\d\d\d|7\.\d+ ?Ki", text, re.I), "the size of weights is not shown: " + text
    assert "unrelated" not in text
    assert "Bearer" not in text


def test_large_capture_is_named(nb: Notebook):
    nb.ok("bulky := make([]float64, 9<<20)")
    text = shown(nb.ok("%%run -np 2\nlen(bulky)"))
    assert "bulky" in text and "72" in text
    nb.ok("bulky := 0")


# Output modes.

TALK = 'for i := range 3 {\n\tfmt.Println("line", i)\n}\nfmt.Fprintln(os.Stderr, "warning")'


def test_output_stream(nb: Notebook):
    for flag in ("", "--output stream"):
        cell = nb.ok(f"%%run -np 3 {flag}\n{TALK}")
        assert by_rank(cell.stdout) == {rank: ["line 0", "line 1", "line 2"] for rank in range(3)}
        assert by_rank(cell.stderr) == {rank: ["warning"] for rank in range(3)}


def test_output_stream_comes_while_it_runs(nb: Notebook, tmp_path):
    gate = tmp_path / "gate"
    cell = nb.begin(
        f'%%run -np 2\nfmt.Println("waiting")\nfor {{\n\tif _, err := os.Stat("{gate}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(time.Millisecond)\n}}\nfmt.Println("through")'
    )
    cell.until(lambda c: by_rank(c.stdout) == {0: ["waiting"], 1: ["waiting"]}, what="a line of each rank")
    assert not cell.done
    gate.touch()
    assert by_rank(cell.finish().ok().stdout) == {0: ["waiting", "through"], 1: ["waiting", "through"]}


def test_output_group(nb: Notebook):
    cell = nb.ok(f"%%run -np 4 --output group\ntime.Sleep(time.Duration(4-hvd.Rank()) * 5 * time.Millisecond)\n{TALK}")
    text = cell.stdout
    lines = [line for line in text.splitlines() if "line" in line]
    assert len(lines) == 12, cell
    ranks = [int(match[1]) for line in lines if (match := re.match(r"\[(\d+)\]", line))]
    if ranks:
        assert ranks == sorted(ranks), "not by rank: " + text
    assert [line.split()[-1] for line in lines] == ["0", "1", "2"] * 4


def test_output_root(nb: Notebook):
    cell = nb.ok('%%run -np 3 --output root\nfmt.Println("from", hvd.Rank())')
    assert "from 0" in cell.stdout
    assert "from 1" not in shown(cell) and "from 2" not in shown(cell)


def test_output_raw(nb: Notebook):
    cell = nb.ok('%%run -np 2 --output raw\nfmt.Print("partial")\nfmt.Println(" line")')
    assert cell.stdout == "partial line\npartial line\n" or sorted(
        cell.stdout.replace("partial", "p").replace(" line", "l").replace("\n", "")
    ) == sorted("plpl"), cell


# The live display.


def test_live_display_is_one_display_updated_in_place(nb: Notebook):
    cell = nb.ok('%%run -np 2\nfmt.Println("last words")\ntime.Sleep(300 * time.Millisecond)\n1')
    first = [m for m in cell.messages if m["msg_type"] == "display_data"]
    updates = [m for m in cell.messages if m["msg_type"] == "update_display_data"]
    assert len(first) == 1 and updates
    display_id = first[0]["content"]["transient"]["display_id"]
    assert {m["content"]["transient"]["display_id"] for m in updates} == {display_id}
    during = [m["content"]["data"] for m in [*first, *updates[:-1]]]
    assert any("running" in str(data) for data in during), "no state was shown"
    assert any("last words" in str(data) for data in during), "no last line was shown"
    pids = re.findall(r"\b\d{2,}\b", " ".join(data["text/plain"] for data in during))
    assert pids, "no pid was shown"
    last = updates[-1]["content"]["data"]["text/plain"]
    assert len(last.strip().splitlines()) == 1, "after the end it is one quiet line"


def test_two_runs_in_a_row_have_displays_of_their_own(nb: Notebook):
    ids = []
    for _ in range(2):
        cell = nb.ok("%%run -np 2\n1")
        ids += [m["content"]["transient"]["display_id"] for m in cell.messages if m["msg_type"] == "display_data"]
    assert len(ids) == 2 and ids[0] != ids[1]
