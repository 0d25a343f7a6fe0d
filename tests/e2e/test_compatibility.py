"""What users of other Go kernels write keeps working: special lines, Display and the display package."""

from __future__ import annotations

import base64
import json

import pytest

from harness.notebook import Notebook

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


# Special lines.


def test_cd(nb: Notebook):
    nb.ok('os.MkdirAll("inner/deeper", 0o755)')
    before = nb.ok("here, _ := os.Getwd()\nhere").result
    nb.ok("%cd inner")
    nb.ok("%cd deeper\n")
    assert nb.ok("here, _ := os.Getwd()\nhere").result == before + "/inner/deeper"
    assert nb.ok("$ pwd").stdout.strip() == before + "/inner/deeper"
    nb.ok("%cd")
    assert nb.ok("here, _ := os.Getwd()\nhere").result == before
    assert "no-such-folder" in nb.fails("%cd no-such-folder").error_text


def test_runs_start_where_the_notebook_is(nb: Notebook):
    nb.ok('os.MkdirAll("elsewhere", 0o755)')
    nb.ok("%cd elsewhere")
    nb.ok("%%run -o places\nplace, _ := os.Getwd()\nfilepath.Base(place)")
    assert nb.ok("places[0]").result == "elsewhere"
    nb.ok("%cd")


def test_help(nb: Notebook):
    cell = nb.ok("%help")
    for word in ("%cd", "%help", "%%run", "$"):
        assert word in cell.stdout, cell


def test_shell_command(nb: Notebook):
    cell = nb.ok("$ echo hello world\nfmt.Println(1)")
    assert cell.stdout == "hello world\n1\n"
    assert nb.ok("$echo near").stdout == "near\n"
    assert "exit status 1" in nb.fails("$ false").error_text


def test_unknown_special_line(nb: Notebook):
    cell = nb.fails("%bogus")
    assert "%bogus" in cell.error_text and "%help" in cell.error_text


def test_lines_keep_their_numbers_below_special_lines(nb: Notebook):
    cell = nb.fails("%help\n\nwrong()")
    assert f"cell[{cell.reply['execution_count']}]:3:1" in cell.error_text


# The display package.


@pytest.mark.parametrize(
    "expression, mime, want",
    [
        ('display.HTML("<b>bold</b>")', "text/html", "<b>bold</b>"),
        ('display.Markdown("**bold**")', "text/markdown", "**bold**"),
        ('display.Math("x^2")', "text/latex", "$$x^2$$"),
        ('display.Latex("x^2")', "text/latex", "$x^2$"),
        ('display.JavaScript("1 + 1")', "application/javascript", "1 + 1"),
        ('display.SVG("<svg></svg>")', "image/svg+xml", "<svg></svg>"),
        ('display.JSON(map[string]interface{}{"a": 1})', "application/json", {"a": 1}),
        ('display.PNG([]byte("p"))', "image/png", base64.b64encode(b"p").decode()),
        ('display.JPEG([]byte("j"))', "image/jpeg", base64.b64encode(b"j").decode()),
        ('display.PDF([]byte("%PDF-1"))', "application/pdf", base64.b64encode(b"%PDF-1").decode()),
        ('display.MakeData("text/html", "<i>i</i>")', "text/html", "<i>i</i>"),
        ('display.MakeData3("text/html", "words", "<i>i</i>")', "text/plain", "words"),
        ('display.MIME(display.MIMEMap{"text/html": "<u>u</u>", "text/plain": "u"}, nil)', "text/html", "<u>u</u>"),
        ('display.Any("text/html", "<s>s</s>")', "text/html", "<s>s</s>"),
        ('display.Auto("just text")', "text/plain", "just text"),
        ('display.Data{Data: display.MIMEMap{"text/html": "<p>p</p>"}}', "text/html", "<p>p</p>"),
        ("display.HTML(display.MIMETypeHTML)", "text/html", "text/html"),
    ],
)
def test_display_functions(nb: Notebook, expression, mime, want):
    as_result = nb.ok(expression).result_data
    (as_display,) = nb.ok(f"Display({expression});").displays
    for data in (as_result, as_display):
        got = data[mime]
        assert (got.strip() if isinstance(got, str) else got) == want
        assert isinstance(data["text/plain"], str), "every bundle has a plain form"
        json.dumps(data)


def test_display_file(nb: Notebook):
    nb.ok('os.WriteFile("page.html", []byte("<em>from a file</em>"), 0o644)')
    assert nb.ok('display.File("text/html", "page.html")').result_data["text/html"] == "<em>from a file</em>"
    assert "no-such.html" in nb.fails('display.File("text/html", "no-such.html")').error_text


def test_display_image(nb: Notebook):
    code = "picture := image.NewRGBA(image.Rect(0, 0, 3, 2))\npicture.Set(1, 1, color.White)\n"
    for expression in ("display.Image(picture)", "picture"):
        cell = nb.ok(code + expression)
        assert base64.b64decode(cell.result_data["image/png"]).startswith(PNG_SIGNATURE)


def test_display_at_any_time(nb: Notebook):
    cell = nb.ok(
        'func show(n int) { Display(display.HTML(fmt.Sprintf("<b>%d</b>", n))) }\n'
        "{\n\tshow(0)\n\tshow(1)\n}\n"
        "finished := make(chan bool)\n"
        "go func() { show(2); finished <- true }()\n"
        "<-finished;"
    )
    assert [data["text/html"] for data in cell.displays] == ["<b>0</b>", "<b>1</b>", "<b>2</b>"]


def test_display_and_text_keep_their_order(nb: Notebook):
    cell = nb.ok('fmt.Println("before")\nDisplay(display.HTML("<hr>"))\nfmt.Println("after")')
    kinds = [m["msg_type"] for m in cell.messages if m["msg_type"] in ("stream", "display_data")]
    assert kinds == ["stream", "display_data", "stream"]


def test_display_package_under_its_other_names(nb: Notebook):
    assert nb.ok('import "display"\ndisplay.HTML("a")').result_data["text/html"] == "a"


# Automatic rendering.


@pytest.mark.parametrize(
    "method, mime, want",
    [
        ('HTML() string { return "<b>b</b>" }', "text/html", "<b>b</b>"),
        ('Markdown() string { return "*m*" }', "text/markdown", "*m*"),
        ('SVG() string { return "<svg/>" }', "image/svg+xml", "<svg/>"),
        ('Latex() string { return "$x$" }', "text/latex", "$x$"),
        ('JavaScript() string { return "1" }', "application/javascript", "1"),
        ('JSON() map[string]interface{} { return map[string]interface{}{"k": "v"} }', "application/json", {"k": "v"}),
        ('PNG() []byte { return []byte("p") }', "image/png", base64.b64encode(b"p").decode()),
        ('JPEG() []byte { return []byte("j") }', "image/jpeg", base64.b64encode(b"j").decode()),
        ('PDF() []byte { return []byte("f") }', "application/pdf", base64.b64encode(b"f").decode()),
        ('SimpleRender() display.MIMEMap { return display.MIMEMap{"text/html": "s"} }', "text/html", "s"),
        ('Render() display.Data { return display.HTML("r") }', "text/html", "r"),
    ],
)
def test_values_that_render_themselves(nb: Notebook, method, mime, want):
    for receiver, value in (("r renders", "renders{1}"), ("r *renders", "&renders{1}")):
        cell = nb.ok(f"type renders struct{{ N int }}\nfunc ({receiver}) {method}\n{value}")
        assert cell.result_data[mime] == want
        assert isinstance(cell.result_data["text/plain"], str)


def test_several_methods_are_one_bundle(nb: Notebook):
    cell = nb.ok(
        'type both struct{}\nfunc (both) HTML() string { return "h" }\nfunc (both) Markdown() string { return "m" }\nboth{}'
    )
    assert cell.result_data["text/html"] == "h" and cell.result_data["text/markdown"] == "m"


def test_a_render_method_that_panics(nb: Notebook):
    nb.ok('type bad struct{}\nfunc (bad) HTML() string { panic("cannot draw") }')
    cell = nb.run("bad{}")
    shown = cell.error_text + str(cell.result_data)
    assert "cannot draw" in shown
    assert nb.ok("1 + 1").result == "2"


# The kinds of notebook that people have: written for this test after what the public examples of Go
# kernels contain, cell by cell.

WORKER_POOL = [
    'import "fmt"\nimport "time"',
    "func worker(id int, jobs <-chan int, results chan<- int) {\n"
    "\tfor j := range jobs {\n"
    '\t\tfmt.Println("worker", id, "took job", j)\n'
    "\t\ttime.Sleep(time.Millisecond)\n"
    "\t\tresults <- j * 2\n"
    "\t}\n"
    "}",
    "jobs := make(chan int, 100)\nresults := make(chan int, 100)",
    "for w := 1; w <= 3; w++ {\n\tgo worker(w, jobs, results)\n}",
    "for j := 1; j <= 6; j++ {\n\tjobs <- j\n}\nclose(jobs)\nsum := 0\nfor a := 1; a <= 6; a++ {\n\tsum += <-results\n}\nsum",
    "",
]


def test_worker_pool_notebook(start_notebook):
    nb = start_notebook()
    cells = [nb.ok(code) for code in WORKER_POOL]
    assert cells[4].result == "42"
    took = cells[3].stdout + cells[4].stdout
    assert sorted(int(line.split()[-1]) for line in took.splitlines()) == [1, 2, 3, 4, 5, 6]


PICTURES = [
    'import (\n\t"fmt"\n\t"io/ioutil"\n\t"net/http"\n\t"os"\n)',
    "func JPEG([]byte) error\nfunc PNG([]byte) error\nfunc SVG(string) error",
    # A server of the notebook's own stands in for the network.
    'import (\n\t"net/http/httptest"\n\t"bytes"\n\t"image"\n\t"image/png"\n)\n'
    "server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {\n"
    "\tpng.Encode(w, image.NewGray(image.Rect(0, 0, 4, 4)))\n"
    "}))",
    "resp, err := http.Get(server.URL)\nbytes, err := ioutil.ReadAll(resp.Body)\nresp.Body.Close()\ndisplay.PNG(bytes)",
    'import "bytes"\nimport "image"\nresp, err := http.Get(server.URL)\nimg, ext, err := image.Decode(resp.Body)\nresp.Body.Close()\n'
    'fmt.Println(ext)\nvar buffer bytes.Buffer\nbuffer.WriteString("free again")\nimg',
    'const (\n\tMIMETypeHTML = "text/html"\n\tMIMETypeText = "text/plain"\n)\ntype MIMEMap = map[string]interface{}\n'
    "type Data = struct {\n\tData, Metadata, Transient MIMEMap\n}\nfunc Any(mimeType string, data interface{}) Data\nfunc Auto(data interface{}) Data",
    'type HTMLer interface { HTML() string }\ntype H struct{ S string }\nfunc (h H) HTML() string { return "<h1>" + h.S + "</h1>" }\nH{"title"}',
    "server.Close()",
]


def test_picture_notebook(start_notebook):
    nb = start_notebook()
    cells = [nb.ok(code) for code in PICTURES]
    for cell in (cells[3], cells[4]):
        assert base64.b64decode(cell.result_data["image/png"]).startswith(PNG_SIGNATURE)
    assert cells[4].stdout == "png\n"
    assert cells[6].result_data["text/html"] == "<h1>title</h1>"


FOLDERS = [
    'import (\n\t"encoding/json"\n\t"flag"\n\t"fmt"\n\t"log"\n\t"os"\n\t"path/filepath"\n\t"strings"\n\t"time"\n\t"unicode"\n)',
    'for _, name := range []string{"a.txt", "b.txt"} {\n\tif err := os.WriteFile(name, []byte(name), 0o644); err != nil {\n\t\tlog.Println(err)\n\t}\n}',
    "type entry struct {\n\tName string `json:\"name\"`\n\tSize int64 `json:\"size\"`\n\thidden bool\n}\nentries := []entry{}",
    'if err := filepath.Walk(".", func(path string, info os.FileInfo, err error) error {\n'
    "\tif err != nil {\n\t\treturn err\n\t}\n"
    '\tif info.IsDir() || filepath.Ext(path) != ".txt" {\n\t\treturn nil\n\t}\n'
    "\tf, err := os.Open(path)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer f.Close()\n"
    "\tentries = append(entries, entry{Name: info.Name(), Size: info.Size()})\n\treturn nil\n"
    "}); err != nil {\n\tlog.Println(err)\n}",
    'f, err := os.Open("a.txt")\nif err != nil {\n\treturn log.Println(err)\n}\ndefer f.Close()\nfmt.Println(f.Name())',
    'out, err := json.MarshalIndent(entries, "", " ")\nif err != nil {\n\treturn log.Println(err)\n}\nfmt.Println(string(out))',
]


def test_folder_notebook(start_notebook):
    nb = start_notebook()
    cells = [nb.ok(code) for code in FOLDERS]
    assert cells[4].stdout == "a.txt\n"
    assert json.loads(cells[5].stdout) == [{"name": "a.txt", "size": 5}, {"name": "b.txt", "size": 5}]
