"""%%run: what goes to the ranks and what comes back."""

from __future__ import annotations

import pytest

from harness.notebook import Notebook
from harness.runs import by_rank, shown


@pytest.fixture
def nb(shared_notebook):
    return shared_notebook


SOURCES = """
type point struct {
	x, y int
	Name string
}

func (p point) norm() float64 { return math.Hypot(float64(p.x), float64(p.y)) }
func (p *point) move(dx int)  { p.x += dx }

type tree struct {
	value       int
	left, right *tree
}

const factor = 3

func scale(v float64) float64     { return v * factor }
func scaledNorm(p point) float64 { return scale(p.norm()) }

var errBase = errors.New("base")

corner := point{3, 4, "corner"}
table := map[string][]float64{"some": {1, 2.5}, "none": nil, "empty": {}}
odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324}
raw := string([]byte{0xff, 0xfe, 'x', 0x00, 0xc3})
nested := &tree{1, &tree{2, nil, &tree{value: 3}}, nil}
problem := fmt.Errorf("something odd: %w", errBase)
"""

RETURNED = """%%run -np 2 -o got
type report struct {
	Rank   int
	secret int
	Corner point
	Scaled float64
	Table  map[string][]float64
	Odd    []float64
	Raw    string
	Nested *tree
	Trouble error
}
moved := corner
moved.move(hvd.Rank())
report{hvd.Rank(), 40 + hvd.Rank(), moved, scaledNorm(corner), table, odd, raw, nested, problem}
"""


def test_everything_arrives_and_comes_back_equal(start_notebook):
    nb = start_notebook()
    nb.ok(SOURCES)
    nb.ok(RETURNED)
    # The static type is the cell's own: this assignment is checked by the compiler.
    nb.ok("var typed []report = got\ntyped = got")
    for expression, result in (
        ("len(got)", "2"),
        ("got[1].Rank", "1"),
        ("got[1].secret", "41"),
        ("got[1].Corner == point{4, 4, `corner`}", "true"),
        ("got[0].Corner.norm()", "5"),
        ("got[1].Scaled", "15"),
        ("reflect.DeepEqual(got[1].Table, table)", "true"),
        ("got[1].Table[`none`] == nil", "true"),
        ("got[1].Table[`empty`] != nil", "true"),
        ("math.IsNaN(got[1].Odd[0])", "true"),
        ("math.IsInf(got[1].Odd[1], 1) && math.IsInf(got[1].Odd[2], -1)", "true"),
        ("math.Signbit(got[1].Odd[3])", "true"),
        ("got[1].Odd[4] == 5e-324", "true"),
        ("got[1].Raw == raw", "true"),
        ("got[1].Nested.value + got[1].Nested.left.value + got[1].Nested.left.right.value", "6"),
        ("got[1].Nested.right == nil", "true"),
        ("got[1].Trouble.Error()", "something odd: base"),
    ):
        assert nb.ok(expression).result == result, expression
    assert nb.ok("corner.x").result == "3", "a rank changed its own copy only"


@pytest.mark.parametrize(
    "value, check",
    [
        ("[3]int8{-1, 0, 127}", "got[0] == [3]int8{-1, 0, 127}"),
        ("uint64(math.MaxUint64)", "got[0] == math.MaxUint64"),
        ("int64(math.MinInt64)", "got[0] == math.MinInt64"),
        ("complex(1, -2)", "got[0] == complex(1, -2)"),
        ("float32(0.1)", "got[0] == float32(0.1)"),
        ("'é'", "got[0] == 'é'"),
        ("time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC)", "got[0].Equal(time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC))"),
        ("time.Minute", "got[0] == time.Minute"),
        ("new(big.Int).Lsh(big.NewInt(1), 200)", "got[0].BitLen() == 201"),
        ("map[[2]int]string{{1, 2}: `k`}", "got[0][[2]int{1, 2}] == `k`"),
        ("[]interface{}{1, `two`, 3.5, nil, []int{4}}", "got[0][1].(string) == `two` && got[0][2].(float64) == 3.5 && got[0][3] == nil"),
        ("struct{ A, b int }{1, 2}", "got[0].A == 1 && got[0].b == 2"),
        ("[]byte(nil)", "got[0] == nil"),
        ("map[string]int{}", "got[0] != nil && len(got[0]) == 0"),
    ],
)
def test_kinds_of_result(nb: Notebook, value, check):
    nb.ok(f"%%run -o got\n{value}")
    assert nb.ok(check).result == "true"


def test_methods_come_back_with_interface_values(nb: Notebook):
    nb.ok(
        "type figure interface{ Area() float64 }\ntype square struct{ side float64 }\n"
        "func (s square) Area() float64 { return s.side * s.side }\n"
        "type circle struct{ r float64 }\nfunc (c *circle) Area() float64 { return c.r }\n"
        "figures := []figure{square{2}, &circle{7}}"
    )
    nb.ok("%%run -np 2 -o areas\nfigures[hvd.Rank()]")
    assert nb.ok("areas[0].Area() + areas[1].Area()").result == "11"


def test_a_redefined_function_is_what_the_ranks_run(nb: Notebook):
    nb.ok("func answer() int { return 1 }\nfunc twice() int { return 2 * answer() }")
    nb.ok("func answer() int { return 21 }")
    nb.ok("%%run -np 2 -o answers\ntwice()")
    assert nb.ok("answers").result == "[42 42]"


def test_values_are_taken_when_the_run_starts(nb: Notebook):
    nb.ok("counter := 1\nfunc bump() int { counter++; return counter }")
    nb.ok("counter = 10")
    nb.ok("%%run -np 2 -o bumped\nbump()\nbump()")
    assert nb.ok("bumped").result == "[12 12]"
    assert nb.ok("counter").result == "10"


def test_top_level_names_of_the_cell_are_visible_to_its_functions(nb: Notebook):
    nb.ok("%%run -np 2 -o seen\nbase := 5 * hvd.Rank()\nfunc add(n int) int { return base + n }\nadd(1)")
    assert nb.ok("seen").result == "[1 6]"


def test_names_of_a_run_stay_in_the_run(nb: Notebook):
    nb.ok("%%run\nonlyThere := 1\nonlyThere")
    assert "undefined: onlyThere" in nb.fails("onlyThere").error_text


def test_return_at_top_level_is_the_value(nb: Notebook):
    nb.ok('%%run -np 2 -o early\nif hvd.Rank() == 1 {\n\treturn "one"\n}\nreturn "other"')
    assert nb.ok("early").result == "[other one]"


def test_value_and_error(nb: Notebook):
    nb.ok("func risky(n int) (int, error) { if n == 3 { return 0, errors.New(\"three is too many\") }; return n, nil }")
    nb.ok("%%run -np 2 -o risks\nrisky(hvd.Rank())")
    assert nb.ok("var ints []int = risks\nints").result == "[0 1]"
    cell = nb.fails("%%run -np 4\nrisky(hvd.Rank())")
    assert "three is too many" in cell.error_text and "3" in cell.error_text


def test_no_last_expression_returns_nothing(nb: Notebook):
    cell = nb.ok("%%run -np 2\nx := hvd.Rank()\nx++")
    assert cell.result is None
    nothing = nb.fails("%%run -np 2 -o bound\nx := hvd.Rank()\nx++")
    assert "bound" in nothing.error_text


def test_results_are_shown_by_rank(nb: Notebook):
    text = shown(nb.ok("%%run -np 3\nfmt.Sprint(`value `, hvd.Rank()*11)"))
    places = [text.index(f"value {n}") for n in (0, 11, 22)]
    assert places == sorted(places)


def test_line_form(nb: Notebook):
    nb.ok("func square(n int) int { return n * n }")
    text = shown(nb.ok("%run -np 3 -o squares square(hvd.Rank() + 5)"))
    assert "25" in text and "49" in text
    assert nb.ok("squares").result == "[25 36 49]"
    cell = nb.ok("%run -np 2 -o again square(hvd.Rank() + 1)\nfmt.Println(again)")
    assert "[1 4]" in cell.stdout


def test_type_errors_before_anything_starts(nb: Notebook):
    cell = nb.fails('%%run -np 2\nfmt.Println("started")\nvar n int = "x"\nnope()')
    number = cell.reply["execution_count"]
    assert f"cell[{number}]:3:13" in cell.error_text and f"cell[{number}]:4:1" in cell.error_text
    assert "started" not in cell.stdout


# What cannot travel is refused before anything starts, by name.

UNWILLING = [
    ("pipe := make(chan int)", "len(pipe)", "pipe", "chan"),
    ("closure := func() int { return 1 }", "closure()", "closure", "func"),
    ("var guard sync.Mutex", "guard.Lock()\n1", "guard", "Mutex"),
    ("type holder struct{ inner struct{ wire chan int } }\nholds := holder{}", "holds.inner.wire == nil", "holds", "wire"),
    ("type ring struct{ next *ring }\nloop := &ring{}\nloop.next = loop", "loop.next != nil", "loop", "cycle"),
    ("list := []interface{}{1, make(chan int)}", "len(list)", "list", "chan"),
]


@pytest.mark.parametrize("declaration, use, name, reason", UNWILLING)
def test_variable_that_cannot_travel(nb: Notebook, declaration, use, name, reason):
    nb.ok(declaration)
    path = nb.home / f"started-{name}"
    cell = nb.fails(f'%%run -np 2\nos.WriteFile("{path}", nil, 0o600)\n{use}')
    assert name in cell.error_text and reason in cell.error_text
    assert not path.exists(), "a rank ran all the same"


def test_variable_that_cannot_travel_behind_a_function(nb: Notebook):
    nb.ok("queue := make(chan int)\nfunc drain() int { return len(queue) }\nfunc outer() int { return drain() }")
    cell = nb.fails("%%run -np 2\nouter()")
    assert "queue" in cell.error_text and "chan" in cell.error_text


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("make(chan int)", "chan"),
        ("func() int { return 1 }", "func"),
        ("&sync.Mutex{}", "Mutex"),
        ("struct{ Deep []chan string }{}", "chan"),
    ],
)
def test_result_type_that_cannot_travel(nb: Notebook, expression, reason):
    path = nb.home / "started-result"
    cell = nb.fails(f'%%run -np 2\nos.WriteFile("{path}", nil, 0o600)\n{expression}')
    assert reason in cell.error_text
    assert not path.exists(), "a rank ran all the same"


# hvd in a worker.


def test_places_of_the_ranks(nb: Notebook):
    nb.ok(
        "%%run -np 3 -o places\n"
        "type place struct{ Rank, Size, LocalRank, LocalSize, CrossRank, CrossSize int; Host string }\n"
        "place{hvd.Rank(), hvd.Size(), hvd.LocalRank(), hvd.LocalSize(), hvd.CrossRank(), hvd.CrossSize(), hvd.Hostname()}"
    )
    for rank in range(3):
        assert nb.ok(f'places[{rank}] == place{{{rank}, 3, {rank}, 3, 0, 1, places[0].Host}}').result == "true"
    assert nb.ok('host, _ := os.Hostname()\nplaces[0].Host == host || places[0].Host == "localhost"').result == "true"


def test_rank_variables_of_the_environment(start_notebook):
    nb = start_notebook(env={"OMPI_COMM_WORLD_RANK": "5", "PMI_RANK": "6", "PMIX_RANK": "7", "HOROVOD_RANK": "8", "HOROVOD_SIZE": "9"})
    nb.ok(
        "%%run -np 2 -o vars\n"
        'strings.Join([]string{os.Getenv("HOROVOD_RANK"), os.Getenv("HOROVOD_SIZE"), os.Getenv("HOROVOD_LOCAL_RANK"),'
        ' os.Getenv("HOROVOD_LOCAL_SIZE"), os.Getenv("HOROVOD_CROSS_RANK"), os.Getenv("HOROVOD_CROSS_SIZE"),'
        ' os.Getenv("OMPI_COMM_WORLD_RANK"), os.Getenv("PMI_RANK"), os.Getenv("PMIX_RANK")}, ",")'
    )
    assert nb.ok("vars[0]").result == "0,2,0,2,0,1,,,"
    assert nb.ok("vars[1]").result == "1,2,1,2,0,1,,,"


def test_rich_output_of_a_rank(nb: Notebook):
    cell = nb.ok('%%run -np 2\nDisplay(display.HTML(fmt.Sprintf("<b>from %d</b>", hvd.Rank())))\nfmt.Println("done")')
    pages = [data.get("text/html", "") for data in cell.displays]
    for rank in range(2):
        assert any(f"<b>from {rank}</b>" in page for page in pages), cell
    assert by_rank(cell.stdout) == {0: ["done"], 1: ["done"]}
