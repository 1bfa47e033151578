# SPDX-License-Identifier: Apache-2.0
"""A worker imports what its own job needs: libraries of other strategies and formats cost seconds of every start."""

from __future__ import annotations

import subprocess
import sys

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
implementation_of(sys.argv[1])
print(*sys.modules)
"""


def modules_after(strategy: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", IMPORTS, strategy], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_worker_of_all_reduce_imports_no_library_of_other_strategies_or_formats() -> None:
    loaded = modules_after("all_reduce")
    assert "mlhub.runtime.strategies.synchronous.all_reduce" in loaded
    assert not loaded & set(HEAVY)


def test_a_worker_of_a_pipeline_imports_torchs_pipelining() -> None:
    assert "torch.distributed.pipelining" in modules_after("pipeline")
