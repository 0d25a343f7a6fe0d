"""The whole suite of jupyter_kernel_test, on a machine without a Go toolchain."""

from __future__ import annotations

import os
import unittest

import jupyter_kernel_test

# Nothing of the kernel may come from a Go installation. The variables are emptied for this suite
# alone, which starts its kernels in its own set-up.
BARE = {"PATH": "", "GOROOT": ""}


class Bare(unittest.TestCase):
    """Empties the environment while a suite runs."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.before = {name: os.environ.get(name) for name in BARE}
        os.environ.update(BARE)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        super().tearDownClass()
        for name, value in cls.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class GorovodTests(Bare, jupyter_kernel_test.KernelTests):
    kernel_name = "gorovod"
    language_name = "go"
    file_extension = ".go"

    code_hello_world = 'fmt.Println("hello, world")'
    code_stderr = 'fmt.Fprintln(os.Stderr, "test")'

    completion_samples = [
        {"text": "strings.ToUp", "matches": {"ToUpper", "ToUpperSpecial"}},
        {"text": "fmt.Println(math.Sqrt2", "matches": {"Sqrt2"}},
        {"text": "zzz_no_such_name", "matches": set()},
    ]

    complete_code_samples = ["x := 1", 'fmt.Println("hello")', "func f() int {\n\treturn 1\n}", "// only words"]
    incomplete_code_samples = ["func f() {", 'fmt.Println("hello",', "x := `raw\n", "if true {\n"]
    invalid_code_samples = ["x := )", "func func", '"never closed']

    code_page_something = "fmt.Println?"

    code_generate_error = 'panic("on purpose")'

    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": '"a" + "b"', "result": "ab"},
        {"code": "[]string{`x`, `y`}", "result": "[x y]"},
        {"code": "1 << 10", "result": "1024"},
        {"code": "true && !false", "result": "true"},
        {"code": "display.HTML(`<b>b</b>`)", "mime": "text/html", "result": "<b>b</b>"},
    ]

    code_display_data = [
        {"code": 'Display(display.HTML("<b>bold</b>"));', "mime": "text/html"},
        {"code": 'Display(display.SVG("<svg></svg>"));', "mime": "image/svg+xml"},
        {"code": 'Display(display.Image(image.NewGray(image.Rect(0, 0, 2, 2))));', "mime": "image/png"},
    ]

    code_history_pattern = "1 <*"
    supported_history_operations = ("tail", "range", "search")

    code_inspect_sample = "strings.ToUpper"

    code_clear_output = "display.Clear(false);"


class GorovodWelcomeTests(Bare, jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "gorovod"
    support_iopub_welcome = True
