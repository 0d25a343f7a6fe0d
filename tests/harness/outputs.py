"""Comparing a notebook's outputs with those stored in it."""

from __future__ import annotations

import re
from typing import Any

import nbformat

from .notebook import plain

# What may differ between two runs of the same notebook: process ids, durations and times of day, the
# name of the machine, and how the lines of different ranks fall together.
_VARYING = [
    (re.compile(r"\bpid[ =:]*\d+"), "pid N"),
    (re.compile(r"\b(rank \d+) on \S+"), r"\1 on HOST"),
    (re.compile(r"\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|m|min)\b(\d+(\.\d+)?s)?"), "TIME"),
    (re.compile(r"\b\d{2}:\d{2}:\d{2}(\.\d+)?\b"), "TIME"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "ADDRESS"),
]
_TAG = re.compile(r"^\[(\d+)\]")


def _text(text: str, mask_numbers: bool) -> str:
    text = plain(text)
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    if mask_numbers:
        text = re.sub(r"[\d.,]+", "#", text)
    return text


def _by_rank(text: str) -> str:
    """Puts runs of tagged lines into the order of their ranks; each rank's own order stays."""
    lines = text.splitlines(keepends=True)
    ordered: list[str] = []
    tagged: list[str] = []
    for line in lines:
        if _TAG.match(line):
            tagged.append(line)
            continue
        ordered += sorted(tagged, key=lambda each: int(_TAG.match(each)[1]))
        tagged = []
        ordered.append(line)
    ordered += sorted(tagged, key=lambda each: int(_TAG.match(each)[1]))
    return "".join(ordered)


def normal(outputs: list[Any], mask_numbers: bool = False) -> list[dict[str, Any]]:
    """The outputs of a cell in a form that is equal for two runs that show the same."""
    streams: dict[str, str] = {}
    others: list[dict[str, Any]] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"]
        elif kind == "error":
            text = "\n".join([output["ename"], output["evalue"], *output["traceback"]])
            others.append({"error": _text(text, mask_numbers)})
        else:
            data = {
                mime: _text(value, mask_numbers) if isinstance(value, str) else value
                for mime, value in output["data"].items()
            }
            others.append({kind: data})
    first = [{name: _text(_by_rank(text), mask_numbers)} for name, text in sorted(streams.items())]
    return first + others


def differences(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode, same_corpus: bool) -> list[str]:
    """What an execution shows otherwise than what is stored; for a cell tagged "corpus" the numbers
    count only where the machine has the text that they were counted in."""
    found = []
    for index, (old, new) in enumerate(zip(stored.cells, executed.cells, strict=True)):
        if old.cell_type != "code":
            continue
        mask = "corpus" in old.metadata.get("tags", []) and not same_corpus
        want, got = normal(old.outputs, mask), normal(new.outputs, mask)
        if want != got:
            found.append(f"cell {index}:\n{old.source}\nstored:   {want}\nexecuted: {got}")
    return found
