"""Reading what a %%run cell shows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from .notebook import Cell

_TAGGED = re.compile(r"^\[(\d+)\] ?(.*)$")


def by_rank(text: str) -> dict[int, list[str]]:
    """The tagged lines of an output, untagged, under their rank."""
    lines: dict[int, list[str]] = defaultdict(list)
    for line in text.splitlines():
        tagged = _TAGGED.match(line)
        if tagged:
            lines[int(tagged[1])].append(tagged[2])
    return dict(lines)


def shown(cell: Cell) -> str:
    """All text that the cell shows: output, displays, result, error."""
    parts = [cell.stdout, cell.stderr]
    parts += [str(data.get("text/plain", "")) for data in cell.displays]
    if cell.result_data is not None:
        parts.append(cell.result_data["text/plain"])
    parts.append(cell.error_text)
    return "\n".join(parts)


def best_of(attempts: int, limit: float, measure: Callable[[], float]) -> float:
    """Holds the best of some measurements to a limit in seconds.

    A budget of the design is about what the program does, not about what else the machine does at the
    time: one attempt within the limit shows it. A hang still fails at the deadline of what is measured.
    """
    taken: list[float] = []
    for _ in range(attempts):
        taken.append(measure())
        if taken[-1] <= limit:
            return taken[-1]
    raise AssertionError(f"never within {limit} s: {', '.join(f'{t:.3f}' for t in taken)}")
