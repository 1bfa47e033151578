# SPDX-License-Identifier: Apache-2.0
"""A start imports no compiler, and optimisers work as torch's own, with and without it."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

STEPS = """
import sys, torch
from mlhub.runtime.optimization.without_compiler import leave_compiler_out

KINDS = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop]

def trained(kind):
    torch.manual_seed(3)
    model = torch.nn.Linear(4, 2)
    optimizer = kind(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(5, 4)).square().sum().backward()
        optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert model.weight.grad.grad_fn is None and torch.is_grad_enabled()
    return model.weight.detach().clone()
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STEPS + dedent(code)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_optimisers_and_replicas_train_without_the_compiler_as_with_it_and_can_be_compiled() -> None:
    """The compiler comes with the first model that its user compiles."""
    run("""
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from mlhub.runtime.optimization.without_compiler import replicas_without_compiler

        leave_compiler_out()
        leave_compiler_out()
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())

        def replica():
            torch.manual_seed(3)
            with replicas_without_compiler():
                return DistributedDataParallel(torch.nn.Linear(4, 2))

        def trained_replica(replica):
            optimizer = torch.optim.SGD(replica.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                replica(torch.ones(5, 4)).square().sum().backward()
                optimizer.step()
            return replica.module.weight.detach().clone()

        without, before = [trained(kind) for kind in KINDS], replica()
        replica_without = trained_replica(before)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        assert "torch._dynamo" not in sys.modules and "sympy" not in sys.modules

        compiled, weight = torch.compile(model, backend="eager"), model.weight.detach().clone()
        compiled(torch.ones(5, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        assert "torch._dynamo" in sys.modules and not torch.equal(model.weight, weight)
        assert all(torch.equal(trained(kind), known) for kind, known in zip(KINDS, without))

        torch.compile(before, backend="eager")(torch.ones(5, 4)).sum().backward()
        assert torch.equal(trained_replica(replica()), replica_without)
        assert torch._dynamo.utils.get_optimize_ddp_mode() == "ddp_optimizer"
        """)


@pytest.mark.slow
def test_a_worker_imports_no_compiler_until_its_first_step() -> None:
    run("""
        from pathlib import Path
        import mlhub.runtime.roles.worker, mlhub.runtime.trainer.loop, mlhub.runtime.inspection.dry_run
        from mlhub.runtime.model.contract import load_contract
        from mlhub.runtime.strategies.registry import implementation_of
        from mlhub.wire.launch import ModelSpec

        facts = {"task": "classification", "n_classes": 3, "input_shape": [6]}
        spec = ModelSpec(kind="builtin", entry="mlp", package=None, weights=None)
        contract = load_contract(spec, None, code=Path("."), facts=facts)
        settings = contract.settings({}, facts)
        model = contract.build_model(settings)
        optimizer = contract.build_optimizer(model, settings)
        contract.loss(model(torch.ones(4, 6)), torch.zeros(4, dtype=torch.long)).backward()
        optimizer.step()
        implementation_of("all_reduce")
        found = [name for name in ("torch._dynamo", "torch._inductor", "sympy", "networkx") if name in sys.modules]
        assert found == [], found
        """)
