# SPDX-License-Identifier: Apache-2.0
"""mlhub profile: asks for a recording, waits, prints what its steps consist of and saves the traces."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import ProfileRecording
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import job
from tests.metrics.test_profiles import Pod, running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class Pods(threading.Thread):
    """Answer the request that the command makes, once it is there: those of number 0 record, the others fail."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(daemon=True)
        self.attempt = attempt

    def run(self) -> None:
        try:
            while (recording := ProfileRecording.objects.filter(ended_at=None).first()) is None:
                time.sleep(0.05)
            for role, rank in recording.traces.order_by("-rank").values_list("role", "rank"):
                pod = Pod(self.attempt, rank, role=role)
                if rank == 0:
                    pod.record(str(recording.pk))
                else:
                    pod.say(str(recording.pk), "failed", reason="torch's profiler failed: no.")
        finally:
            connection.close()


def test_a_profile_is_recorded_shown_and_saved(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    attempt = running(job(bob.project_a, bob.bob), n_workers=2)
    assert bob.client(bob.bob).get("/api/v1/jobs").status_code == 200  # the server's thread need not import it all
    pods = Pods(attempt)
    pods.start()
    asked = ["profile", "job", "--steps", "5", "--rank", "0", "--rank", "1", "--to", str(tmp_path / "new")]
    assert main(asked) == CommandStatus.OK, capsys.readouterr().err
    pods.join()
    first, head, operator, failed = capsys.readouterr().out.splitlines()
    assert first.startswith("Worker 0, 5 steps of 570.00 ms: reading 4%, computing 70%, synchronising 18%, waiting")
    assert head.split()[:2] == ["OPERATOR", "CALLS"]
    assert operator.split() == ["aten::addmm", "12", "1500.00", "ms", "1750.00", "ms", "-64", "B"]
    assert failed == "Worker 1: torch's profiler failed: no."
    assert (tmp_path / "new" / "job.worker-0.trace.json.gz").read_bytes() == b"trace"


def test_a_server_is_recorded_and_its_phases_are_shown(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    attempt = running(job(bob.project_a, bob.bob), n_workers=2, n_servers=1)
    assert bob.client(bob.bob).get("/api/v1/jobs").status_code == 200
    pods = Pods(attempt)
    pods.start()
    assert main(["profile", "job", "--server", "0", "--to", str(tmp_path)]) == CommandStatus.OK, capsys.readouterr().err
    pods.join()
    first, head, phase = capsys.readouterr().out.splitlines()
    assert first.startswith("Server 0, 5 steps of 570.00 ms: ")
    assert head.split() == ["PHASE", "TIMES", "TIME"]
    assert phase.split()[-2:] == ["1500.00", "ms"]
    assert (tmp_path / "job.server-0.trace.json.gz").read_bytes() == b"trace"


def test_a_profile_that_failed_or_is_refused_says_why(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    found = job(bob.project_a, bob.bob)
    folder = tmp_path / "new"
    assert main(["profile", "job", "--to", str(folder)]) == CommandStatus.REFUSED
    assert "only a job that runs can be recorded" in capsys.readouterr().err
    attempt = running(found, n_workers=2)
    pods = Pods(attempt)
    pods.start()
    assert main(["profile", "job", "--rank", "1", "--to", str(folder)]) != CommandStatus.OK
    pods.join()
    assert "Nothing was recorded: torch's profiler failed: no." in capsys.readouterr().err
    assert not folder.exists()  # it is made for traces alone
    (tmp_path / "file").touch()
    assert main(["profile", "job", "--to", str(tmp_path / "file" / "below")]) == CommandStatus.USAGE
    assert f"{tmp_path / 'file'} is no folder." in capsys.readouterr().err
    assert ProfileRecording.objects.count() == 1
    assert main(["-o", "json", "profile", "job", "--no-wait"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)["state"] == "waiting"
