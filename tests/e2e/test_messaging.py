"""Jupyter messaging, as a client sees it."""

from __future__ import annotations

import pytest

from harness.notebook import Notebook


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


def test_kernel_info(nb: Notebook):
    info = nb.ask("kernel_info_request", {})
    assert info["status"] == "ok"
    assert info["implementation"] == "gorovod"
    assert info["protocol_version"].startswith("5.")
    language = info["language_info"]
    assert language["name"] == "go"
    assert language["file_extension"] == ".go"
    assert language["mimetype"] == "text/x-go"
    assert language["pygments_lexer"] == "go" and language["codemirror_mode"]
    assert nb.ask("kernel_info_request", {}, channel="control")["status"] == "ok"


# Execute.


def test_every_request_is_bracketed_by_busy_and_idle(nb: Notebook):
    cell = nb.ok('fmt.Println("x")\n1')
    kinds = [m["msg_type"] for m in cell.messages]
    states = [m["content"]["execution_state"] for m in cell.messages if m["msg_type"] == "status"]
    assert states == ["busy", "idle"]
    assert kinds[0] == "status" and kinds[1] == "execute_input" and kinds[-1] == "status"
    assert kinds.index("stream") < kinds.index("execute_result")


def test_execution_count(nb: Notebook):
    first = nb.ok("1").reply["execution_count"]
    assert nb.ok("2").reply["execution_count"] == first + 1
    assert nb.ok("3", store_history=False).reply["execution_count"] == first + 1
    assert nb.ok("4").reply["execution_count"] == first + 2
    cell = nb.fails("wrong()")
    assert cell.reply["execution_count"] == first + 3
    assert cell.contents("execute_input")[0]["execution_count"] == first + 3


def test_silent(nb: Notebook):
    cell = nb.ok("quiet := 5\nquiet", silent=True)
    assert cell.result is None and cell.contents("execute_input") == []
    assert nb.ok("quiet").result == "5"


def test_user_expressions(nb: Notebook):
    cell = nb.ok("base := 20", user_expressions={"good": "base + 1", "bad": "noSuchName"})
    values = cell.reply["user_expressions"]
    assert values["good"]["status"] == "ok" and values["good"]["data"]["text/plain"] == "21"
    assert values["bad"]["status"] == "error" and "noSuchName" in values["bad"]["evalue"]


def test_stop_on_error_aborts_what_waits(nb: Notebook):
    cells = [nb.begin('time.Sleep(200 * time.Millisecond)\npanic("stop here")'), nb.begin("1"), nb.begin("2")]
    for cell in cells:
        cell.finish()
    assert cells[0].status == "error"
    for cell in cells[1:]:
        assert cell.status in ("aborted", "error"), cell
        assert cell.result is None
    assert nb.ok("3").result == "3"


def test_stop_on_error_can_be_declined(nb: Notebook):
    cells = [nb.begin('panic("go on")', stop_on_error=False), nb.begin("1 + 1")]
    for cell in cells:
        cell.finish()
    assert cells[0].status == "error" and cells[1].result == "2"


def test_error_reply_has_what_the_error_message_has(nb: Notebook):
    cell = nb.fails('panic("same everywhere")')
    for key in ("ename", "evalue", "traceback"):
        assert cell.reply[key] == cell.error[key]
    assert isinstance(cell.reply["traceback"], list) and cell.reply["traceback"]


# stdin.


def test_scanln_asks_in_the_notebook(nb: Notebook):
    cell = nb.ok(
        'var name string\nvar age int\nfmt.Print("who? ")\nfmt.Scanln(&name, &age)\nfmt.Printf("%s is %d\\n", name, age)',
        answers=("Ada 36",),
    )
    assert "Ada is 36" in cell.stdout


def test_bufio_reads_lines_from_the_notebook(nb: Notebook):
    cell = nb.ok(
        "scanner := bufio.NewScanner(os.Stdin)\nfor i := 0; i < 2 && scanner.Scan(); i++ {\n\tfmt.Println(\"read:\", scanner.Text())\n}",
        answers=("first line", "second line"),
    )
    assert "read: first line\nread: second line\n" in cell.stdout


def test_stdin_where_nobody_can_answer(nb: Notebook):
    cell = nb.run('var s string\nn, err := fmt.Scanln(&s)\nfmt.Println(n, err != nil)', allow_stdin=False)
    assert cell.status == "error" or "0 true" in cell.stdout, cell
    assert nb.ok("1").result == "1"


# Help while typing.


def complete(nb: Notebook, code: str, cursor: int | None = None):
    reply = nb.ask("complete_request", {"code": code, "cursor_pos": len(code) if cursor is None else cursor})
    assert reply["status"] == "ok"
    return reply


def test_complete_package_members(nb: Notebook):
    reply = complete(nb, "strings.ToUp")
    assert "ToUpper" in [match.split(".")[-1] for match in reply["matches"]]
    code = "strings.ToUp"
    assert code[: reply["cursor_start"]] + reply["matches"][0] == "strings.ToUpper"


def test_complete_fields_methods_and_names(nb: Notebook):
    nb.ok("type planet struct{ Mass float64; moons int }\nfunc (p planet) Orbit() {}\nearth := planet{}")
    members = {match.split(".")[-1] for match in complete(nb, "earth.")["matches"]}
    assert {"Mass", "moons", "Orbit"} <= members
    assert "earth" in complete(nb, "fmt.Println(ear")["matches"]
    assert "planet" in complete(nb, "var x plan")["matches"]


def test_complete_in_a_cell_that_does_not_parse(nb: Notebook):
    reply = complete(nb, 'for {\n\tif x := strings.Rep')
    assert any("Repeat" in match for match in reply["matches"])


def test_cursor_counts_characters(nb: Notebook):
    code = 's := "🙂é"; strings.ToLow'
    reply = complete(nb, code)
    assert code[: reply["cursor_start"]] + reply["matches"][0] == 's := "🙂é"; strings.ToLower'


def test_complete_without_matches(nb: Notebook):
    assert complete(nb, "zzzNothingStartsLikeThis")["matches"] == []


def inspect(nb: Notebook, code: str, cursor: int | None = None):
    reply = nb.ask(
        "inspect_request", {"code": code, "cursor_pos": len(code) if cursor is None else cursor, "detail_level": 0}
    )
    assert reply["status"] == "ok"
    return reply


def test_inspect(nb: Notebook):
    nb.ok("// area gives the area of a rectangle.\nfunc area(w, h float64) float64 { return w * h }\nside := 3.5")
    found = inspect(nb, "area")
    assert found["found"]
    assert "func area(w" in found["data"]["text/plain"] and "float64" in found["data"]["text/plain"]
    assert "area gives the area of a rectangle" in found["data"]["text/plain"]
    assert "float64" in inspect(nb, "side")["data"]["text/plain"]
    text = inspect(nb, "strings.Repeat(", cursor=len("strings.Rep"))["data"]["text/plain"]
    assert "Repeat(s string, count int) string" in text
    missing = inspect(nb, "noSuchName")
    assert missing["found"] is False and missing["data"] == {}


@pytest.mark.parametrize(
    "code, status",
    [
        ("x := 1", "complete"),
        ("func f() int {\n\treturn 1\n}", "complete"),
        ("%%run -np 2\nhvd.Rank()", "complete"),
        ("func f() {", "incomplete"),
        ("x := []int{1,", "incomplete"),
        ("s := `raw", "incomplete"),
        ("a := )", "invalid"),
        ('s := "open', "invalid"),
    ],
)
def test_is_complete(nb: Notebook, code, status):
    assert nb.ask("is_complete_request", {"code": code})["status"] == status


# History, comms, unknown requests.


def test_history(start_notebook):
    nb = start_notebook()
    codes = ["one := 1", "one + 1", 'fmt.Println("three")']
    for code in codes:
        nb.ok(code)
    nb.ok("hidden := 1", store_history=False)
    tail = nb.ask("history_request", {"hist_access_type": "tail", "n": 3, "output": False, "raw": True})["history"]
    assert [entry[2] for entry in tail] == codes
    found = nb.ask(
        "history_request", {"hist_access_type": "search", "pattern": "one*", "output": False, "raw": True, "n": 10}
    )["history"]
    assert [entry[2] for entry in found] == codes[:2]
    with_output = nb.ask("history_request", {"hist_access_type": "tail", "n": 2, "output": True, "raw": True})["history"]
    assert list(with_output[0][2]) == ["one + 1", "2"]
    ranged = nb.ask(
        "history_request",
        {"hist_access_type": "range", "session": 0, "start": 1, "stop": 3, "output": False, "raw": True},
    )["history"]
    assert [entry[2] for entry in ranged] == codes[:2]


def test_comms(nb: Notebook):
    assert nb.ask("comm_info_request", {})["comms"] == {}
    message = nb.client.session.msg(
        "comm_open", {"comm_id": "c1", "target_name": "no.such.target", "data": {}}
    )
    nb.client.shell_channel.send(message)
    nb.read_until(
        lambda: any(m["msg_type"] == "comm_close" and m["content"]["comm_id"] == "c1" for m in nb.unclaimed),
        60,
        lambda: "comm_close for an unknown target",
    )


def test_an_unknown_request_is_ignored(nb: Notebook):
    nb.client.shell_channel.send(nb.client.session.msg("no_such_request", {}))
    assert nb.ok("1").result == "1"


def test_a_message_with_a_wrong_signature_is_ignored(nb: Notebook):
    session = nb.client.session
    frames = session.serialize(session.msg("execute_request", {"code": 'fmt.Println("forged")', "silent": False}))
    signature = frames.index(b"<IDS|MSG>") + 1
    frames[signature] = b"0" * len(frames[signature])
    nb.client.shell_channel.socket.send_multipart(frames)
    assert nb.ok("1").result == "1"
    assert not any("forged" in str(m["content"]) for m in nb.unclaimed)


def test_heartbeat_beats_while_a_cell_runs(nb: Notebook):
    cell = nb.begin('fmt.Println("on")\ntime.Sleep(time.Hour)').until_stdout("on")
    beat = nb.client.context.socket(__import__("zmq").REQ)
    beat.connect(nb.client.hb_channel.address)
    beat.send(b"still there?")
    assert beat.poll(30_000), "no heartbeat"
    assert beat.recv() == b"still there?"
    beat.close(linger=0)
    nb.interrupt()
    assert cell.finish().status == "error"


def test_control_and_help_answer_while_a_cell_runs(nb: Notebook):
    cell = nb.begin('fmt.Println("on")\ntime.Sleep(time.Hour)').until_stdout("on")
    assert nb.ask("kernel_info_request", {}, channel="control")["status"] == "ok"
    nb.interrupt()
    assert cell.finish().status == "error"


# Restart and shutdown.


def test_restart_forgets_everything(start_notebook):
    nb = start_notebook()
    nb.ok("remembered := 1")
    before = nb.pid
    nb.restart()
    assert nb.pid != before
    assert "undefined: remembered" in nb.fails("remembered").error_text
    cell = nb.ok("1 + 1")
    assert cell.result == "2"


def test_restart_while_a_run_is_on(start_notebook):
    nb = start_notebook()
    nb.begin('%%run -np 2\nfmt.Println("up")\ntime.Sleep(time.Hour)').until(
        lambda cell: cell.stdout.count("up") == 2, what="both ranks up"
    )
    old = [p.pid for p in nb.processes()]
    nb.restart()
    now = {p.pid for p in nb.processes()}
    assert not now & set(old), "a process of the old kernel is still there"
    assert nb.ok("2 + 2").result == "4"
