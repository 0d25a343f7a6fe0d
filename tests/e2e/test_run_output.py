"""%%run: the ranks' output lands in its own cell, complete, before the reply."""

from __future__ import annotations

from harness.notebook import Notebook
from harness.runs import by_rank

import pytest


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


def test_ten_megabytes_from_four_ranks(nb: Notebook):
    # 4 ranks x 25,600 lines x 100 bytes and a newline.
    cell = nb.ok(
        '%%run -np 4\ntail := strings.Repeat("x", 90)\nout := bufio.NewWriter(os.Stdout)\n'
        'for i := range 25600 {\n\tfmt.Fprintf(out, "%010d%s\\n", i, tail)\n}\nout.Flush()',
        timeout=300,
    )
    lines = by_rank(cell.stdout)
    assert sorted(lines) == [0, 1, 2, 3]
    want = [f"{i:010}" + "x" * 90 for i in range(25600)]
    for rank in range(4):
        assert lines[rank] == want, f"rank {rank} lost or changed a line"


def test_unbuffered_lines_of_sixteen_ranks(nb: Notebook):
    cell = nb.ok('%%run -np 16\nfor i := range 200 { fmt.Println(hvd.Rank(), i) }', timeout=300)
    lines = by_rank(cell.stdout)
    for rank in range(16):
        assert lines[rank] == [f"{rank} {i}" for i in range(200)]


def test_order_of_both_streams_of_a_rank(nb: Notebook):
    cell = nb.ok('%%run\nfor i := range 50 {\n\tfmt.Println("out", i)\n\tfmt.Fprintln(os.Stderr, "err", i)\n}')
    assert by_rank(cell.stdout)[0] == [f"out {i}" for i in range(50)]
    assert by_rank(cell.stderr)[0] == [f"err {i}" for i in range(50)]


def test_progress_lines(nb: Notebook):
    cell = nb.ok('%%run -np 2\nfor i := range 4 {\n\tfmt.Printf("\\rstep %d of 3", i)\n}\nfmt.Println()')
    # A front end shows what stands after the last carriage return of a line.
    for rank in range(2):
        assert f"[{rank}]" in cell.stdout
    assert "\r" in cell.stdout
    assert cell.stdout.count("step 3 of 3") == 2


def test_a_last_line_without_a_newline_gets_one(nb: Notebook):
    cell = nb.ok('%%run -np 3\nfmt.Print("no newline ", hvd.Rank())')
    assert by_rank(cell.stdout) == {rank: [f"no newline {rank}"] for rank in range(3)}
    assert cell.stdout.endswith("\n")


def test_bytes_that_are_not_utf8(nb: Notebook):
    cell = nb.ok('%%run -np 2\nos.Stdout.Write([]byte("a\\xff\\xfeb\\xc3\\n"))\nfmt.Println("next é")')
    for rank in range(2):
        first, second = by_rank(cell.stdout)[rank]
        assert first.startswith("a\ufffd") and "b" in first and second == "next é"


def test_a_long_line(nb: Notebook):
    cell = nb.ok('%%run -np 2\nfmt.Println(strings.Repeat("y", 300000))\nfmt.Println("after")')
    assert cell.stdout.count("y") == 600000
    assert cell.stdout.count("after") == 2


def test_output_before_a_failure_is_complete(nb: Notebook):
    cell = nb.fails('%%run -np 2\nfor i := range 1000 { fmt.Println(i) }\nif hvd.Rank() == 0 { panic("after the output") }\nselect {}')
    assert by_rank(cell.stdout)[0][:1000] == [str(i) for i in range(1000)]


def test_println_log_and_children_are_caught(nb: Notebook):
    cell = nb.ok(
        '%%run -np 2\nprintln("builtin")\nlog.Print("logged")\nchild := exec.Command("echo", "child")\n'
        "child.Stdout = os.Stdout\nif err := child.Run(); err != nil { panic(err) }"
    )
    for rank in range(2):
        errors = "\n".join(by_rank(cell.stderr)[rank])
        assert "builtin" in errors and "logged" in errors
        assert by_rank(cell.stdout)[rank] == ["child"]


def test_output_of_one_run_does_not_land_in_the_next(nb: Notebook):
    first = nb.begin('%%run -np 2\nfmt.Println("first")')
    second = nb.begin('%%run -np 2\nfmt.Println("second")')
    third = nb.begin('fmt.Println("third")')
    for cell in (first, second, third):
        cell.finish().ok()
    assert by_rank(first.stdout) == {0: ["first"], 1: ["first"]}
    assert by_rank(second.stdout) == {0: ["second"], 1: ["second"]}
    assert third.stdout == "third\n"


def test_rich_output_keeps_its_place_between_lines(nb: Notebook):
    cell = nb.ok('%%run\nfmt.Println("before")\nDisplay(display.HTML("<hr>"))\nfmt.Println("after")')
    order = []
    for message in cell.messages:
        content = message["content"]
        if message["msg_type"] == "stream":
            order += [word for word in ("before", "after") if word in content["text"]]
        elif message["msg_type"] == "display_data" and "<hr>" in str(content["data"]):
            order.append("rule")
    assert order == ["before", "rule", "after"]
