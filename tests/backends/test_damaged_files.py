# SPDX-License-Identifier: Apache-2.0
"""A gang whose files are damaged costs itself: it is ended and reported, and every other gang is observed as before."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.local.folders import GangFolder, is_alive, read_json
from mlhub.backends.protocol import GangPhase, ItemKind
from mlhub.wire.exits import Cause, Fault
from mlhub.wire.launch import PodRole
from tests.backends.specs import gang, program
from tests.contract.test_backend import CLUSTER, of, wait
from tests.fuzz.corruptions import corrupted_bytes

N_CORRUPTIONS = 200
FILES = ("launch.json", "launched.json", "stop.json", "worker-0/shim.json", "worker-0/exit.json")


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    backend = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=program(tmp_path))
    yield backend
    for status in backend.observe():
        backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


@pytest.mark.parametrize("name", ["launch.json", "worker-0/shim.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"pid": "x"}', b"[" * 100_000,
        b'{"pid": 0, "started": null, "child": 0, "child_started": null}',
    ],
)  # fmt: skip
def test_the_damaged_gang_is_ended_and_says_why_and_the_other_runs_on(
    local: LocalBackend, name: str, content: bytes
) -> None:
    sick, well = gang("run"), gang("run", slots=(1,))
    for spec in (sick, well):
        local.launch(spec)
    folder = GangFolder(local.home / "pods" / sick.attempt_id)
    shim = read_json(folder.pod(PodRole.WORKER, 0).shim)
    assert shim is not None
    assert is_alive(shim["child"], shim["child_started"])
    (folder.path / name).write_bytes(content)
    status = of(local, sick)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.UNKNOWN)
    assert Cause.UNKNOWN.fault is Fault.PLATFORM
    assert "damaged" in status.message
    wait(lambda: not is_alive(shim["child"], shim["child_started"]))
    assert not of(local, well).phase.is_ended
    (item,) = local.quarantined()
    assert (item.kind, item.name, item.reason) == (ItemKind.GANG, sick.attempt_id, status.message)
    local.observe()
    assert local.quarantined() == (item,), "it is the same item, since the same moment"
    local.stop(sick.attempt_id, grace_s=0)
    assert not folder.path.exists()
    local.observe()
    assert local.quarantined() == ()


@pytest.mark.slow
def test_no_corruption_of_a_gang_s_files_keeps_others_from_being_observed(local: LocalBackend) -> None:
    well = gang("run")
    local.launch(well)
    dice = random.Random(7)
    whole = {
        "launch.json": json.dumps({"pid": 1, "started": 1, "spec": json.loads(_launched(local, well.attempt_id))}),
        "launched.json": '{"at": 1.0}',
        "stop.json": '{"deadline": 1.0, "why": "asked", "asked_at": 1.0}',
        "worker-0/shim.json": '{"pid": 999999999, "started": 1, "child": 999999998, "child_started": 1}',
        "worker-0/exit.json": '{"code": 0, "cause": "", "message": "", "at": 1.0}',
    }
    for turn in range(N_CORRUPTIONS):
        folder = local.home / "pods" / f"00000000-0000-0000-0000-{turn:012d}"
        (folder / "worker-0").mkdir(parents=True)
        for name, text in whole.items():
            (folder / name).write_text(text)
        damaged, other = dice.choice(FILES), dice.choice(FILES)
        (folder / damaged).write_bytes(corrupted_bytes(dice, whole[damaged].encode(), whole[other].encode()))
        statuses = {status.attempt_id: status for status in local.observe()}
        assert not statuses[well.attempt_id].phase.is_ended
        assert folder.name in statuses
        local.stop(statuses[folder.name].attempt_id, grace_s=0)
        if folder.exists():
            local.stop(statuses[folder.name].attempt_id, grace_s=0)


def _launched(local: LocalBackend, attempt_id: str) -> str:
    found = read_json(local.home / "pods" / attempt_id / "launch.json")
    assert found is not None
    return json.dumps(found["spec"])
