"""Every notebook under notebooks/ runs through and shows what is stored in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from papermill.execute import remove_error_markers

from harness.outputs import differences

FOLDER = Path(__file__).resolve().parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def corpus_version() -> str:
    sys.path.insert(0, str(FOLDER.parent / "scripts"))
    try:
        import notebooks as script

        return script.corpus_version()
    finally:
        sys.path.pop(0)


def by_nbclient(path: Path, folder: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    return NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def by_papermill(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Runs it as papermill does, which runs cells that are to fail but then counts them as failures."""
    out = folder / "out.ipynb"
    to_fail = any("raises-exception" in cell.metadata.get("tags", []) for cell in nbformat.read(path, as_version=4).cells)
    try:
        papermill.execute_notebook(str(path), str(out), cwd=str(folder), progress_bar=False)
    except papermill.PapermillExecutionError:
        if not to_fail:
            raise
    return remove_error_markers(nbformat.read(out, as_version=4))


def test_there_are_notebooks():
    assert "quickstart.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("execute", [by_nbclient, by_papermill])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_is_stored(path: Path, execute, tmp_path: Path):
    stored = nbformat.read(path, as_version=4)
    assert all(cell.execution_count for cell in stored.cells if cell.cell_type == "code"), "stored without outputs"
    executed = execute(path, tmp_path)
    same = stored.metadata.get("gorovod", {}).get("corpus") == corpus_version()
    found = differences(stored, executed, same)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_clean(path: Path):
    """Holds a notebook to what a reader may expect of it before running anything."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "gorovod"
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    for index, cell in enumerate(notebook.cells):
        failed = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        if "raises-exception" in cell.metadata.get("tags", []):
            assert failed, f"cell {index} is to show an error and shows none"
        else:
            assert not failed, f"cell {index} failed: {failed}"


def test_nbconvert_shows_results_outside_a_browser(tmp_path: Path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell('%%run -np 2 -o squares\nsquare := hvd.Rank() * 111\nfmt.Println("square", square)\nsquare')],
        metadata={"kernelspec": {"name": "gorovod", "display_name": "Go (gorovod)", "language": "go"}},
    )
    path = tmp_path / "small.ipynb"
    nbformat.write(notebook, path)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", str(path)], check=True, timeout=300
    )
    page = (tmp_path / "small.html").read_text()
    assert "square 111" in page and "[1]" in page
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(by_nbclient(path, tmp_path))
    assert "square 111" in body
