"""Executes the notebooks and stores their outputs, so that a reader sees them without running anything.

    python scripts/notebooks.py [NOTEBOOK.ipynb …]

What changes from run to run without meaning (times of execution, cell identifiers) is not stored.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def corpus_version() -> str:
    """Names the text that notebooks count in: the standard library of this Go."""
    try:
        return subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="gorovod",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def main(paths: list[Path]) -> None:
    for path in paths:
        print(f"executing {path}", flush=True)
        notebook = execute(nbformat.read(path, as_version=4), path.parent)
        for index, cell in enumerate(notebook.cells):
            cell.id = f"cell-{index:02}"
            cell.metadata.pop("execution", None)
        notebook.metadata["gorovod"] = {"corpus": corpus_version()}
        nbformat.validate(notebook)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")))
