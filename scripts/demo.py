"""Runs a notebook through its real kernel, headless, and prints each cell and what it shows.

    python scripts/demo.py notebooks/quickstart.ipynb
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def indent(text: str, mark: str) -> str:
    return textwrap.indent(text.rstrip("\n"), mark, lambda _: True)


def show(output: nbformat.NotebookNode) -> None:
    """Prints an output as a terminal can: text as it is, of pictures and pages what they are."""
    kind = output.output_type
    if kind == "stream":
        print(indent(output.text, "  "))
    elif kind == "error":
        print(indent(ANSI.sub("", "\n".join(output.traceback)), "  ! "))
    else:
        rich = [mime for mime in output.data if mime != "text/plain"]
        text = output.data.get("text/plain", "")
        if text:
            print(indent(text, "  "))
        if rich:
            print(f"  ({', '.join(rich)}: shown as such in JupyterLab)")


def main(path: Path) -> int:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="gorovod", resources={"metadata": {"path": str(path.parent)}}
    )
    print(f"running {path} in the kernel gorovod", flush=True)
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "markdown":
                print("\n" + textwrap.indent(cell.source, "  | ", lambda _: True))
                continue
            if cell.cell_type != "code":
                continue
            heading(f"[{index}]")
            print(indent(cell.source, "  > "), flush=True)
            failure = None
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                failure = error
            for output in cell.outputs:
                show(output)
            sys.stdout.flush()
            if failure is not None:
                print(f"\ncell [{index}] of {path} failed", file=sys.stderr)
                return 1
    print(
        f"""
{path} ran through. To open it yourself in JupyterLab:

    .venv/bin/jupyter lab {path}

(or `make lab`), and pick the kernel "Go (gorovod)" for a notebook of your own."""
    )
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
