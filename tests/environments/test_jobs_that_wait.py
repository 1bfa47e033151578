# SPDX-License-Identifier: Apache-2.0
"""A job whose environment must be built for other packages of the platform waits in validation until it is ready."""

from __future__ import annotations

import pytest

from mlhub.environments import base
from mlhub.environments.models import PythonEnvironment
from mlhub.environments.tasks import build_environment
from mlhub.jobs import tasks
from mlhub.jobs.execution import inputs
from mlhub.jobs.models import Job
from mlhub.jobs.tasks import hand_off_job
from mlhub.storage.inspection import Verdict
from mlhub.storage.models import WorkItem
from tests.environments.test_code_that_requires_packages import settled, uploaded
from tests.jobs.builders import job

pytestmark = pytest.mark.slow

SCRIPT = {"train.py": b"import greeting\n", "requirements.txt": b"greeting\n"}


@pytest.fixture
def passed_dry_runs(monkeypatch):
    """Answers dry runs, which are not what these tests are about; returns the arguments of each."""
    made = []

    def inspect(*arguments, **_):
        made.append(arguments)
        return Verdict(found={"profile": {"is_script": True, "servers_possible": False}})

    monkeypatch.setattr(tasks, "inspect", inspect)
    return made


def script_job(cast):
    version = settled(uploaded(cast, SCRIPT, kind="script", entry="train.py"))
    found = job(cast.project_a, cast.bob, is_tried=False)
    Job.objects.filter(pk=found.pk).update(model_version=version)
    return Job.objects.get(pk=found.pk), version


def platform_changes(monkeypatch):
    monkeypatch.setattr(base, "VERSION", base.VERSION + 1)


def test_a_job_of_code_with_packages_gives_its_pods_the_layer(cast, wheelhouse, passed_dry_runs):
    waiting, version = script_job(cast)
    names = [item.name for item in inputs.inputs_of(waiting)]
    assert names[-1] == inputs.model_spec(version).environment == inputs.ENVIRONMENT
    assert version.environment.layer in inputs.readable_blobs(waiting)
    hand_off_job(str(waiting.pk))
    assert Job.objects.get(pk=waiting.pk).preflight == "passed"


def test_a_job_waits_for_the_environment_that_is_built_anew_and_goes_on_with_it(
    cast, wheelhouse, passed_dry_runs, monkeypatch
):
    waiting, version = script_job(cast)
    before = version.environment
    platform_changes(monkeypatch)
    hand_off_job(str(waiting.pk))
    renewed = PythonEnvironment.objects.exclude(pk=before.pk).get()
    assert (renewed.state, Job.objects.get(pk=waiting.pk).preflight, passed_dry_runs) == ("building", "pending", [])
    version.refresh_from_db()
    assert version.environment == before, "what runs already is started again with the former one"
    build_environment(str(renewed.pk))
    assert tasks.continue_with_environment(str(renewed.pk)) == 1
    assert WorkItem.objects.filter(subject_id=waiting.pk).count() == 1
    hand_off_job(str(waiting.pk))
    version.refresh_from_db()
    assert (Job.objects.get(pk=waiting.pk).preflight, version.environment) == ("passed", renewed)


def test_a_build_that_fails_meanwhile_fails_the_job_with_its_reason(cast, wheelhouse, passed_dry_runs, monkeypatch):
    waiting, _ = script_job(cast)
    platform_changes(monkeypatch)
    for wheel in wheelhouse.glob("greeting-*"):
        wheel.unlink()
    hand_off_job(str(waiting.pk))
    renewed = PythonEnvironment.objects.get(state="building")
    build_environment(str(renewed.pk))
    hand_off_job(str(waiting.pk))
    failed = Job.objects.get(pk=waiting.pk)
    assert (failed.state, failed.preflight) == ("failed", "failed")
    assert "greeting was not found" in failed.failure["message"]
