"""Two notebooks at once, and a machine without a Go toolchain."""

from __future__ import annotations

import pytest

from harness.runs import by_rank, shown


def test_two_notebooks_run_at_once(start_notebook, tmp_path):
    gate = tmp_path / "gate"
    code = (
        "%%run -np 8 -o mine\n"
        'fmt.Println("up")\n'
        f'for {{\n\tif _, err := os.Stat("{gate}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(time.Millisecond)\n}}\n'
        "base + hvd.Rank()"
    )
    notebooks = [start_notebook(), start_notebook()]
    for number, notebook in enumerate(notebooks):
        notebook.ok(f"base := {100 * (number + 1)}")
    cells = [notebook.begin(code) for notebook in notebooks]
    for cell in cells:
        cell.until(lambda c: c.stdout.count("up") == 8 or c.done, what="eight ranks up")
        assert not cell.done, cell
    assert [len(notebook.processes("worker")) for notebook in notebooks] == [8, 8]
    gate.touch()
    for number, (notebook, cell) in enumerate(zip(notebooks, cells)):
        cell.finish().ok()
        assert sorted(by_rank(cell.stdout)) == list(range(8))
        want = [100 * (number + 1) + rank for rank in range(8)]
        assert notebook.ok("mine").result == str(want).replace(",", "")


def test_a_cell_can_run_while_another_notebook_runs(start_notebook):
    one, other = start_notebook(), start_notebook()
    cell = one.begin('%%run -np 2\nfmt.Println("up")\ntime.Sleep(time.Hour)')
    cell.until(lambda c: c.stdout.count("up") == 2, what="both ranks up")
    assert other.ok("%run -np 2 -o r hvd.Rank()\nr").status == "ok"
    assert other.ok("r").result == "[0 1]"
    one.interrupt()
    cell.finish().failed()


@pytest.fixture
def bare(start_notebook):
    """A kernel on a machine without a Go toolchain, nor anything else to call."""
    return start_notebook(
        env={"PATH": "", "GOROOT": "", "GOPATH": "/nonexistent", "GOMODCACHE": "/nonexistent", "GOCACHE": "/nonexistent"}
    )


def test_no_toolchain_is_needed(bare):
    bare.ok('import (\n\t"encoding/json"\n\t"net/http"\n\t"go/ast"\n)\ntype t struct{ A int }\nvar _ http.Handler\nvar _ ast.Node')
    assert bare.ok("out, err := json.Marshal(t{4})\nif err != nil { panic(err) }\nstring(out)").result == '{"A":4}'
    assert "undefined: json.Nope" in bare.fails("json.Nope()").error_text
    bare.ok("%%run -np 2 -o ranks\nslices.Max([]int{hvd.Rank(), 1})")
    assert bare.ok("ranks").result == "[1 1]"
    reply = bare.ask("inspect_request", {"code": "strings.Repeat", "cursor_pos": 14, "detail_level": 0})
    assert "count int" in reply["data"]["text/plain"]


def test_every_package_of_the_standard_library_is_known(bare):
    packages = ["archive/tar", "bufio", "compress/gzip", "container/heap", "context", "crypto/sha256", "database/sql", "encoding/csv", "errors", "fmt", "go/scanner", "hash/crc32", "html/template", "image/color", "io/fs", "iter", "log/slog", "maps", "math/big", "math/rand/v2", "mime", "net/netip", "os/exec", "path/filepath", "regexp", "slices", "sort", "strconv", "sync/atomic", "text/tabwriter", "time", "unicode/utf8", "unsafe"]
    for package in packages:
        cell = bare.run(f'import _ "{package}"')
        assert cell.status == "ok", f"{package}: {shown(cell)}"
