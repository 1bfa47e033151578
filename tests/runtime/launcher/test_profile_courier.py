# SPDX-License-Identifier: Apache-2.0
"""Requests for a profile reach the trainer once, and what it leaves reaches the platform, whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher.ingest_api import IngestApi
from mlhub.runtime.launcher.shipping import Shipper
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.courier import ProfileCourier
from mlhub.runtime.profiling.files import RecordingFiles, RecordingNotes
from mlhub.runtime.reporting import Reporter
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.launcher.ingest_server import Ingest
from tests.runtime.launcher.test_launcher import until

ID = "0199c0de-0000-7000-8000-000000000001"
REQUEST = {"id": ID, "steps": 2, "ranks": [0], "first_step": None}
STEP = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 9}


class Carried:
    """A pod's launcher as far as profiles go."""

    def __init__(self, ingest: Ingest, folder: Path) -> None:
        (folder / "work").mkdir()
        spec = Gang(folder, write_blobs(folder / "blobs.npz")).spec()
        self.pod = Pod(spec, folder / "work", ingest.url, "token", b"", folder)
        self.files = RecordingFiles(self.pod)
        api = IngestApi(ingest.url, "attempt", "token")
        self.courier = ProfileCourier(self.pod, Reporter(self.pod.reports), upload=api.put_trace)
        api.on_profile = self.courier.receive
        self.shipper = Shipper(
            api, role="worker", index=0, reports=self.pod.reports, log=self.pod.output, on_final=lambda _: None
        )
        self.shipper.start()

    def leave(self, notes: RecordingNotes, *events: Any) -> None:
        self.files.trace(ID).write_text(json.dumps({"traceEvents": list(events)}))
        self.files.write_notes(notes)

    def said(self) -> list[dict[str, Any]]:
        lines = self.pod.reports.read_text().splitlines() if self.pod.reports.exists() else []
        return [json.loads(line)["detail"] for line in lines]


@pytest.fixture
def carried(ingest: Ingest, tmp_path: Path) -> Iterator[Carried]:
    found = Carried(ingest, tmp_path)
    yield found
    found.courier.end(timeout_s=60)
    assert found.shipper.drain(timeout_s=60)  # or it would go on to whoever gets the server's port next


def ask(carried: Carried, ingest: Ingest) -> None:
    ingest.profile = REQUEST
    with carried.pod.output.open("a") as log:
        log.write("a line\n")
    until(lambda: carried.files.request_path.exists())


def test_a_request_reaches_the_trainer_and_its_trace_the_platform(carried: Carried, ingest: Ingest) -> None:
    ask(carried, ingest)
    assert carried.files.read_request() is not None
    assert "profile" in ingest.abilities
    carried.files.mark_begun(ID)
    until(lambda: len(carried.said()) == 1)
    carried.leave(RecordingNotes(ID, first_step=3, n_steps=1, seconds={"compute": 1.0}), STEP)
    until(lambda: len(carried.said()) == 2)
    begun, done = carried.said()
    assert begun == {"recording": ID, "state": "recording"}
    assert (done["state"], done["first_step"], done["n_steps"]) == ("done", 3, 1)
    assert done["summary"]["step_s"]["compute"] == 1.0
    assert set(ingest.artifacts) == {"worker-0.json.gz"}
    until(lambda: not carried.files.has_begun(ID))  # nothing stays on the disk
    assert carried.shipper.drain(timeout_s=60)
    assert len(carried.said()) == 2  # the request stood in each answer, and was followed once


def test_a_trace_that_cannot_be_used_fails_with_its_reason_and_nothing_else(carried: Carried, ingest: Ingest) -> None:
    ask(carried, ingest)
    carried.leave(RecordingNotes(ID, first_step=0, n_steps=1), "no event", {"ph": "X", "cat": "cpu_op"})
    until(lambda: len(carried.said()) == 1)
    assert carried.said()[0]["reason"].startswith("The trace could not be used: an event that no profiler writes")
    assert not ingest.artifacts


def test_a_storage_quota_that_is_used_up_is_said_in_its_words(carried: Carried, ingest: Ingest) -> None:
    ask(carried, ingest)
    ingest.problem = {"code": "quota_exceeded", "detail": "A may store 10 bytes."}
    carried.leave(RecordingNotes(ID, first_step=0, n_steps=1), STEP)
    until(lambda: len(carried.said()) == 1)
    assert carried.said() == [{"recording": ID, "state": "failed", "reason": "A may store 10 bytes."}]


def test_a_trainer_that_is_killed_leaves_nothing_and_the_launcher_goes_on(carried: Carried, ingest: Ingest) -> None:
    ask(carried, ingest)
    carried.files.trace(ID).write_text('{"traceEvents": [')  # half a trace, and no notes
    carried.courier.end(timeout_s=60)
    assert carried.said() == []
    assert not ingest.artifacts
    assert carried.shipper.drain(timeout_s=60)


@pytest.mark.parametrize(
    "raw", [None, [], {"id": "../../etc"}, {**REQUEST, "steps": 10**9}, {**REQUEST, "ranks": "all"}]
)
def test_a_request_that_is_not_understood_is_passed_over(carried: Carried, ingest: Ingest, raw: Any) -> None:
    carried.courier.receive(raw)
    assert not carried.files.request_path.exists()
