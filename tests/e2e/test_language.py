"""The language of a cell: Go, with the notebook's rules on top."""

from __future__ import annotations

import re

import pytest

from harness.notebook import Notebook


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


# A cell mixes declarations, statements and expressions.


def test_mixed_cell(nb: Notebook):
    cell = nb.ok(
        """
fmt.Println(double(limit))
const limit = 21
func double(n int) int { return 2 * n }
import "fmt"
for i := 0; i < 2; i++ {
	fmt.Print(i, " ")
}
fmt.Println()
double(4)
"""
    )
    assert cell.stdout == "42\n0 1 \n"
    assert cell.result == "8"


@pytest.mark.parametrize(
    "first, second, expression, result",
    [
        ("redo := 1", 'redo := "two"', "redo", "two"),
        ("var redo int = 1", "var redo []string", "len(redo)", "0"),
        ("const redo = 1", "func redo() int { return 5 }", "redo()", "5"),
        ("func redo() int { return 1 }", "func redo(a, b int) int { return a + b }", "redo(2, 3)", "5"),
        ("type redo int", "type redo struct{ A string }", 'redo{"x"}.A', "x"),
        ("type redo struct{ A int }", "redo := 7", "redo", "7"),
        ("redo := 1", "redo := redo + 1", "redo", "2"),
    ],
)
def test_redeclare_anything(nb: Notebook, first, second, expression, result):
    nb.ok(first)
    nb.ok(second)
    assert nb.ok(expression).result == result


def test_newest_wins_in_older_functions(nb: Notebook):
    nb.ok('func greeting() string { return "old" }\nfunc greet() string { return greeting() + "!" }')
    assert nb.ok("greet()").result == "old!"
    nb.ok('func greeting() string { return "new" }')
    assert nb.ok("greet()").result == "new!"


def test_newest_type_wins_in_older_functions(nb: Notebook):
    nb.ok("type shape struct{ A int }\nfunc makeShape() shape { return shape{A: 3} }")
    nb.ok("type shape struct{ A, B int }")
    assert nb.ok("makeShape().B + makeShape().A").result == "3"


def test_newest_variable_wins_in_older_functions(nb: Notebook):
    nb.ok("level := 1\nfunc readLevel() int { return level }")
    nb.ok("level := 2")
    assert nb.ok("readLevel()").result == "2"


def test_older_function_that_no_longer_fits_is_named(nb: Notebook):
    nb.ok("func measure() int { return 1 }\nfunc report() int { return measure() + 1 }")
    nb.run('func measure() string { return "long" }')
    cell = nb.run("report()")
    assert cell.status == "error", cell
    assert "report" in cell.error_text


def test_short_declaration_again_and_again(nb: Notebook):
    for text, number in (("1", "1"), ("22", "22"), ("333", "333")):
        cell = nb.ok(f'parsed, err := strconv.Atoi("{text}")\nif err != nil {{ panic(err) }}\nparsed')
        assert cell.result == number


def test_method_added_in_a_later_cell(nb: Notebook):
    nb.ok("type vec struct{ X, Y int }\nv := vec{3, 4}")
    nb.ok("func (v vec) Norm2() int { return v.X*v.X + v.Y*v.Y }")
    assert nb.ok("v.Norm2()").result == "25"
    nb.ok("func (v *vec) Scale(k int) { v.X *= k; v.Y *= k }")
    assert nb.ok("v.Scale(2)\nv.Norm2()").result == "100"
    nb.ok('func (v vec) String() string { return "vec!" }')
    assert nb.ok("fmt.Sprint(v)").result == "vec!"


def test_automatic_imports(start_notebook):
    nb = start_notebook()
    assert nb.ok('strings.ToUpper("go") + strconv.Itoa(int(math.Sqrt(16)))').result == "GO4"
    assert nb.ok('var buffer bytes.Buffer\njson.NewEncoder(&buffer).Encode([]int{1})\nbuffer.String()').result.strip() == "[1]"
    assert nb.ok('filepath.Join("a", "b")').result == "a/b"


def test_unused_names_are_fine(nb: Notebook):
    nb.ok('import "net/http"\nunused := 1\nfunc local() { alsoUnused := 2 }')


def test_value_of_the_last_expression(nb: Notebook):
    assert nb.ok("6 * 7").result == "42"
    assert nb.ok('"text"').result == "text"
    assert nb.ok("[]int{1, 2, 3}").result == "[1 2 3]"
    assert nb.ok("number := 5").result is None
    assert nb.ok("number++").result is None
    assert nb.ok("func nothing() {}\nnothing()").result is None


def test_several_values_are_a_tuple(nb: Notebook):
    result = nb.ok('func pair() (int, string) { return 3, "three" }\npair()').result
    assert re.fullmatch(r"\(?3,? three\)?", result), result
    result = nb.ok('strconv.Atoi("12")').result
    assert re.fullmatch(r"\(?12,? (<nil>|nil)\)?", result), result


def test_semicolon_silences(nb: Notebook):
    assert nb.ok("6 * 7;").result is None
    assert nb.ok("6 * 7; // quiet").result is None


@pytest.mark.parametrize("call", ['fmt.Println("hi")', 'fmt.Printf("hi\\n")', 'fmt.Print("hi\\n")', 'fmt.Fprintln(os.Stdout, "hi")'])
def test_print_as_last_expression_shows_no_result(nb: Notebook, call):
    cell = nb.ok(call)
    assert cell.stdout == "hi\n"
    assert cell.result is None


@pytest.mark.parametrize(
    "code, result",
    [
        ("var fs []func() int\nfor i := 0; i < 3; i++ { fs = append(fs, func() int { return i }) }\nfs[0]() + 10*fs[1]() + 100*fs[2]()", "210"),
        ('out := ""\nfor i, r := range "aéz" { out += fmt.Sprint(i, string(r), ";") }\nout', "0a;1é;3z;"),
        ("sum := 0\nfor i := range 5 { sum += i }\nsum", "10"),
        ("func upTo(n int) func(func(int) bool) { return func(yield func(int) bool) { for i := 0; i < n && yield(i); i++ {} } }\ntotal := 0\nfor v := range upTo(4) { total += v }\ntotal", "6"),
        ("min(3, 1, 2) + max(1, 5)", "6"),
        ('m := map[string]int{"a": 1}\nclear(m)\nlen(m)', "0"),
        ("s := []int{3, 1, 2}\nslices.Sort(s)\ns", "[1 2 3]"),
        ('slices.Sorted(maps.Keys(map[string]int{"b": 1, "a": 2}))', "[a b]"),
        ("func apply[T, U any](xs []T, f func(T) U) []U { var r []U; for _, x := range xs { r = append(r, f(x)) }; return r }\napply([]int{1, 2}, func(i int) string { return fmt.Sprint(i * i) })", "[1 4]"),
        ("type pile[T any] struct{ items []T }\nfunc (p *pile[T]) Push(v T) { p.items = append(p.items, v) }\nvar p pile[string]\np.Push(\"x\")\nlen(p.items)", "1"),
        ("order := []int{}\nfor i := 0; i < 3; i++ { func() { defer func(n int) { order = append(order, n) }(i) }() }\norder", "[0 1 2]"),
        ("a, b := 1, 2\na, b = b, a\na*10 + b", "21"),
    ],
)
def test_a_cell_means_what_go_means(nb: Notebook, code, result):
    assert nb.ok(code).result == result


# Errors before anything runs.


def test_all_type_errors_at_once(nb: Notebook):
    cell = nb.fails(
        'fmt.Println("must not run")\n'
        'var a int = "x"\n'
        "var b string = 1\n"
        "noSuchThing()\n"
        "strings.NoSuch()\n"
    )
    number = cell.reply["execution_count"]
    text = cell.error_text
    assert cell.stdout == ""
    for place, message in (
        ("2:13", 'cannot use "x" (untyped string constant) as int value in variable declaration'),
        ("3:16", "cannot use 1 (untyped int constant) as string value in variable declaration"),
        ("4:1", "undefined: noSuchThing"),
        ("5:9", "undefined: strings.NoSuch"),
    ):
        assert f"cell[{number}]:{place}" in text, cell
        assert message in text, cell
    carets = [line for line in text.splitlines() if re.fullmatch(r"[\s|\d]*\^[\^~]*", line)]
    assert len(carets) == 4, cell


def test_caret_stands_under_the_place(nb: Notebook):
    cell = nb.fails('word := "é" + wrong')
    lines = cell.error_text.splitlines()
    at = next(i for i, line in enumerate(lines) if '"é" + wrong' in line and "undefined" not in line)
    assert lines[at].index("wrong") == lines[at + 1].index("^"), cell


@pytest.mark.parametrize("code", ["x := (", "func f( {", 'fmt.Println("a"', "if {", "a := )"])
def test_syntax_error_has_its_place(nb: Notebook, code):
    cell = nb.fails(code)
    assert f"cell[{cell.reply['execution_count']}]:1:" in cell.error_text


# Errors while it runs.


def test_panic_shows_the_lines_and_keeps_the_state(nb: Notebook):
    cell = nb.fails(
        "before := 42\n"
        "func fill(m map[string]int) {\n"
        '\tm["x"] = 1\n'
        "}\n"
        "fill(nil)\n"
        'fmt.Println("not reached")\n'
    )
    number = cell.reply["execution_count"]
    assert "assignment to entry in nil map" in cell.error_text
    assert f"cell[{number}]:3" in cell.error_text
    assert f"cell[{number}]:5" in cell.error_text
    assert "not reached" not in cell.stdout
    assert nb.ok("before").result == "42"


@pytest.mark.parametrize(
    "code, message",
    [
        ("values := []int{1}\ni := 5\nvalues[i]", "index out of range [5] with length 1"),
        ("var p *struct{ A int }\np.A", "nil pointer dereference"),
        ("zero := 0\n1 / zero", "integer divide by zero"),
        ('panic(fmt.Errorf("wrapped: %w", io.EOF))', "wrapped: EOF"),
        ('var any interface{} = "text"\nany.(int)', "interface conversion"),
    ],
)
def test_panic_messages_are_those_of_go(nb: Notebook, code, message):
    cell = nb.fails(code)
    assert message in cell.error_text
    assert f"cell[{cell.reply['execution_count']}]:" in cell.error_text


def test_panic_in_an_older_function_names_its_cell(nb: Notebook):
    declared = nb.ok("func blame(i int) int {\n\treturn []int{}[i]\n}").reply["execution_count"]
    called = nb.fails("blame(3)")
    assert f"cell[{declared}]:2" in called.error_text
    assert f"cell[{called.reply['execution_count']}]:1" in called.error_text


@pytest.mark.parametrize(
    "code, message",
    [
        ('go func() { panic("lost in a goroutine") }()\n<-make(chan int)', "lost in a goroutine"),
        ("os.Exit(3)", "os.Exit"),
        ('log.Fatal("fatal words")', "fatal words"),
        ("runtime.Goexit()", "Goexit"),
    ],
)
def test_attempts_to_end_the_process_are_errors_of_the_cell(nb: Notebook, code, message):
    nb.ok("kept := 7")
    session = nb.session_pid()
    cell = nb.fails(code)
    assert message in cell.error_text + cell.stderr
    assert nb.ok("kept").result == "7"
    assert nb.session_pid() == session


@pytest.mark.parametrize(
    "code, reason",
    [
        ("func deep(n int) int { return deep(n+1) + 1 }\ndeep(0)", r"stack overflow|stack exceeds"),
        ("huge := make([]byte, 1<<45)\nlen(huge)", r"out of memory|cannot allocate memory"),
        (
            "shared := map[int]int{}\n"
            "for g := 0; g < 4; g++ { go func() { for i := 0; ; i++ { shared[i%64] = i } }() }\n"
            "select {}",
            r"concurrent map",
        ),
    ],
    ids=["stack overflow", "out of memory", "concurrent map writes"],
)
def test_what_kills_the_session_costs_only_the_session(start_notebook, code, reason):
    nb = start_notebook()
    nb.ok("func stays() int { return 11 }\ntype kind struct{ A int }\nlostOne := 1\nlostTwo := kind{2}")
    kernel, session = nb.pid, nb.session_pid()
    cell = nb.fails(code)
    assert re.search(reason, cell.error_text), cell
    assert "lostOne" in cell.error_text and "lostTwo" in cell.error_text, cell
    assert nb.pid == kernel
    assert nb.ok("stays() + kind{4}.A").result == "15"
    assert nb.session_pid() != session
    assert "lostOne" in nb.fails("lostOne").error_text
    assert nb.ok("lostOne := 5\nlostOne").result == "5"


# What the public example notebooks of Go kernels contain.


def test_functions_without_a_body(nb: Notebook):
    nb.ok("func JPEG([]byte) error\nfunc Measure(string) (int, error)")


def test_variable_named_like_a_package_imported_later(nb: Notebook):
    nb.ok('bytes, err := hex.DecodeString("6869")')
    assert nb.ok("string(bytes)").result == "hi"
    assert nb.ok('import "bytes"\nvar b bytes.Buffer\nb.WriteString("written")\nb.String()').result == "written"


def test_top_level_return_ends_the_cell(nb: Notebook):
    cell = nb.ok('fmt.Println("one")\nif len("x") == 1 {\n\treturn\n}\nfmt.Println("two")')
    assert cell.stdout == "one\n"


def test_top_level_return_of_a_call_without_a_value(nb: Notebook):
    cell = nb.ok('if err := errors.New("no file"); err != nil {\n\treturn log.Println(err)\n}\nfmt.Println("two")')
    assert "no file" in cell.stderr
    assert cell.stdout == ""


def test_top_level_defer_runs_at_the_end_of_the_cell_once(nb: Notebook):
    assert nb.ok('defer fmt.Println("last")\nfmt.Println("first")').stdout == "first\nlast\n"
    assert nb.ok("1").stdout == ""


def test_repeated_imports(nb: Notebook):
    nb.ok('import "image"\nimport "image"')
    nb.ok('import (\n\t"image"\n\t"fmt"\n)')
    assert nb.ok('import im "image"\nim.Pt(1, 2).X + image.Pt(1, 2).Y').result == "3"


def test_output_of_an_earlier_cells_goroutines(nb: Notebook):
    nb.ok(
        "jobs := make(chan int)\nfinished := make(chan bool)\n"
        'go func() {\n\tfor job := range jobs {\n\t\tfmt.Println("worked on", job)\n\t}\n\tfinished <- true\n}()'
    )
    cell = nb.ok("for i := range 3 { jobs <- i }\nclose(jobs)\n<-finished;")
    assert cell.stdout == "worked on 0\nworked on 1\nworked on 2\n"


def test_empty_cells(nb: Notebook):
    for code in ("", "\n\n", "// only a comment\n", "/* and another */"):
        assert nb.ok(code).result is None


# Output.


def test_streams(nb: Notebook):
    cell = nb.ok('fmt.Println("out")\nfmt.Fprintln(os.Stderr, "err")\nprintln("builtin")\nlog.Print("logged")')
    assert cell.stdout == "out\n"
    assert "err\n" in cell.stderr and "builtin\n" in cell.stderr and "logged\n" in cell.stderr


def test_much_output_is_complete_and_in_order(nb: Notebook):
    cell = nb.ok("for i := range 20000 { fmt.Println(i) }")
    assert cell.stdout == "".join(f"{i}\n" for i in range(20000))


def test_output_that_is_not_utf8(nb: Notebook):
    cell = nb.ok('os.Stdout.Write([]byte("a\\xffb\\n"));')
    assert cell.stdout == "a\ufffdb\n"
