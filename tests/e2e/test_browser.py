"""A person opens JupyterLab in a browser, runs cells and presses the interrupt button."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import nbformat
import pytest

from conftest import need_command
from harness import processes
from harness.browser import Browser, Lab

CELLS = [
    'func square(n int) int { return n * n }\nfmt.Println("declared")',
    '%%run -np 4 -o squares\nfmt.Println("working")\nsquare(hvd.Rank() + 1)',
    'display.HTML(fmt.Sprintf("<b id=\'sum\'>%d</b>", squares[0]+squares[1]+squares[2]+squares[3]))',
    '%%run -np 2\nfmt.Println("busy now")\ntime.Sleep(time.Hour)',
]


@pytest.fixture
def mark():
    mark = uuid.uuid4().hex
    yield mark
    left = processes.wait_none(mark, (), timeout=30)
    processes.kill([process.pid for process in left])
    assert not left, f"left behind: {left}"


@pytest.fixture
def page(tmp_path: Path, mark: str):
    browser_path = need_command("chromium", "chromium-browser", "google-chrome")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in CELLS],
        metadata={"kernelspec": {"name": "gorovod", "display_name": "Go (gorovod)", "language": "go"}},
    )
    nbformat.write(notebook, folder / "person.ipynb")
    lab = Lab(folder, {processes.MARK: mark})
    try:
        browser = Browser(browser_path, tmp_path / "profile")
        try:
            browser.open(lab.address("person.ipynb"))
            yield browser
            if wanted := os.environ.get("GOROVOD_SCREENSHOTS"):
                browser.screenshot(Path(wanted) / "jupyterlab.png")
        finally:
            browser.close()
    finally:
        lab.close()


def output_of(cell: int) -> str:
    """JavaScript for the text below a code cell."""
    return f"(document.querySelectorAll('.jp-CodeCell')[{cell}].querySelector('.jp-OutputArea')?.innerText ?? '')"


def run_cell(page: Browser, cell: int) -> None:
    """Selects a cell with the mouse and presses Shift+Enter."""
    box = page.evaluate(
        f"""(() => {{
            const editor = document.querySelectorAll('.jp-CodeCell')[{cell}].querySelector('.cm-content');
            editor.scrollIntoView({{block: 'center'}});
            const {{x, y, height}} = editor.getBoundingClientRect();
            return [x + 20, y + height / 2];
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
    for kind in ("keyDown", "keyUp"):
        page.call(
            "Input.dispatchKeyEvent", type=kind, modifiers=8, key="Enter", code="Enter", windowsVirtualKeyCode=13
        )


def click(page: Browser, selector: str) -> None:
    """Clicks the middle of an element with the mouse."""
    x, y = page.evaluate(
        f"""(() => {{
            const {{x, y, width, height}} = document.querySelector({selector!r}).getBoundingClientRect();
            return [x + width / 2, y + height / 2];
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def test_a_person_in_jupyterlab(page: Browser, mark: str):
    page.wait_for("document.querySelectorAll('.jp-CodeCell').length === 4")
    page.wait_for("document.body.innerText.includes('Go (gorovod)')")
    page.wait_for("document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'")

    run_cell(page, 0)
    page.wait_for(f"{output_of(0)}.includes('declared')")

    run_cell(page, 1)
    page.wait_for(f"{output_of(1)}.includes('16')")
    text = page.evaluate(output_of(1))
    assert text.count("working") >= 4, text
    assert page.evaluate("document.querySelectorAll('.jp-CodeCell')[1].querySelectorAll('[data-mime-type*=error]').length") == 0

    run_cell(page, 2)
    page.wait_for("document.querySelector('#sum')?.innerText === '30'")

    run_cell(page, 3)
    page.wait_for(f"{output_of(3)}.split('busy now').length > 2")
    assert len(processes.of_role(mark, "worker")) == 2
    click(page, ".jp-NotebookPanel-toolbar [data-command='notebook:interrupt-kernel']")
    page.wait_for(f"/interrupt/i.test({output_of(3)})")
    assert not processes.wait_none(mark, ("worker", "agent"), timeout=10)
