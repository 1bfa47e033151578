# SPDX-License-Identifier: Apache-2.0
"""Which dry runs may use a sandbox that has imported torch, and which processes keep one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mlhub.runtime.sandbox import capabilities
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.spare_sandbox import SpareSandbox
from mlhub.storage import spare_sandboxes
from mlhub.wire.launch import ModelSpec, PodSpec
from mlhub.wire.sandbox import SandboxTask, TextArgument
from tests.backends.specs import gang

BEST = Isolation(has_namespaces=True, has_own_user=True, has_landlock=True, has_filter=True)


def dry_run(**changes: Any) -> SandboxTask:
    spec = gang("done")
    pod = PodSpec.of(spec, spec.workers[0], master_address="", server_addresses=())
    text = TextArgument(replace(pod, **changes).to_json())
    return SandboxTask(("preflight", "--spec", text), 60.0, 2**30, 2**30)


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SpareSandbox]]:
    """The spares that would have been started."""
    found: list[SpareSandbox] = []
    monkeypatch.setattr(SpareSandbox, "prepare", lambda spare: found.append(spare))
    yield found
    spare_sandboxes._kept.clear()


def test_a_dry_run_with_settings_of_its_own_uses_no_spare() -> None:
    assert spare_sandboxes.may_be_warm(dry_run())
    layer = ModelSpec("package", "model", package="code", environment="layer")
    assert not spare_sandboxes.may_be_warm(dry_run(model=layer))
    assert not spare_sandboxes.may_be_warm(dry_run(variables={"MKL_NUM_THREADS": "1"}))
    assert not spare_sandboxes.may_be_warm(dry_run(secret_names=("TOKEN",)))
    assert not spare_sandboxes.may_be_warm(replace(dry_run(), arguments=("dataset", "--format", "csv")))


def test_only_workers_keep_a_spare_and_only_where_the_settings_and_the_machine_allow_it(
    settings: Any, monkeypatch: pytest.MonkeyPatch, prepared: list[SpareSandbox]
) -> None:
    monkeypatch.setattr(capabilities, "isolation", lambda: BEST)
    spare_sandboxes.prepare_spare()
    assert (prepared, spare_sandboxes.spare_for(dry_run())) == ([], None)
    settings.WARM_WORKERS = 0
    spare_sandboxes.keep_spare()
    assert prepared == []
    settings.WARM_WORKERS = 1
    spare_sandboxes.keep_spare()
    assert spare_sandboxes.spare_for(dry_run()) is prepared[0]
    monkeypatch.setattr(capabilities, "isolation", lambda: replace(BEST, has_filter=False))
    spare_sandboxes.keep_spare()
    assert len(prepared) == 1
    assert spare_sandboxes.spare_for(dry_run()) is None
