"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from harness.notebook import Notebook

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "bin" / "gorovod"


def pytest_configure(config: pytest.Config) -> None:
    """Lets kernels be found in the venv alone: one installed for the user must not stand in its way."""
    os.environ["JUPYTER_NO_CONFIG"] = "1"
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["JUPYTER_DATA_DIR"] = os.path.join(sys.prefix, "share", "jupyter")
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")


def missing(reason: str) -> None:
    """Skips the test for a component that the machine lacks; on CI everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"missing on CI: {reason}")
    pytest.skip(reason)


def need_command(*names: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    missing(f"none of {', '.join(names)} is on PATH")
    raise AssertionError("unreachable")


@pytest.fixture(scope="module")
def shared_notebook():
    """One kernel for the tests of a file that leave nothing behind for each other to trip on."""
    with Notebook() as notebook:
        yield notebook


@pytest.fixture
def notebook():
    """A kernel of the test's own."""
    with Notebook() as notebook:
        yield notebook


@pytest.fixture
def start_notebook():
    """Starts kernels with options of their own; all are shut down after the test."""
    started: list[Notebook] = []

    def start(**options) -> Notebook:
        started.append(Notebook(**options))
        return started[-1]

    yield start
    errors = []
    for notebook in started:
        try:
            notebook.close()
        except AssertionError as error:
            errors.append(str(error))
    assert not errors, "\n".join(errors)
