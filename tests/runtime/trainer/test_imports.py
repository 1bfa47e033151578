# SPDX-License-Identifier: Apache-2.0
"""A worker imports what its own job needs: libraries of other strategies and formats cost seconds of every start."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAVY = (
    "sympy",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
    "torch.distributed.tensor",
    "pyarrow",
    "PIL",
)
IMPORTS = """
import sys
import mlhub.runtime.roles.worker, mlhub.runtime.trainer.loop
from mlhub.runtime.strategies.registry import implementation_of
for strategy in ("all_reduce", "pipeline"):
    implementation_of(strategy)
    print(*sys.modules)
"""


def test_a_worker_imports_no_library_of_other_strategies_or_formats() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    of_all_reduce, and_of_pipeline = (set(line.split()) for line in done.stdout.splitlines())
    assert "mlhub.runtime.strategies.synchronous.all_reduce" in of_all_reduce
    assert not of_all_reduce & set(HEAVY)
    assert "torch.distributed.pipelining" in and_of_pipeline
