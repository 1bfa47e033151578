# SPDX-License-Identifier: Apache-2.0
"""Imports are not interrupted by the garbage collector, which works as before afterwards."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mlhub.wire.imports import without_garbage_collection

COUNTS = """
import gc
found = []
gc.callbacks.append(lambda phase, info: found.append(info["generation"]))
from mlhub.runtime.roles.worker import trainer_class
n_before = len(found)
trainer_class()
assert len(found) == n_before, f"{len(found) - n_before} collections"
assert gc.isenabled() and gc.get_freeze_count() > 100_000
"""


def test_a_worker_imports_its_trainer_without_a_collection() -> None:
    subprocess.run([sys.executable, "-c", COUNTS], check=True)


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """As it was before the test."""
    was_enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()


def test_the_collector_works_again_after_an_import_that_fails() -> None:
    with pytest.raises(ModuleNotFoundError), without_garbage_collection():
        importlib.import_module("mlhub.runtime.there_is_none")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()
