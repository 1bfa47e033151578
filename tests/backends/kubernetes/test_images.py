# SPDX-License-Identifier: Apache-2.0
"""Images that jobs bring: what the first process of the container finds there, and what becomes of the gang."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mlhub._version import __version__
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.specs import image_check
from mlhub.backends.protocol import GangPhase, LaunchError
from mlhub.wire.exits import Cause, ExitCode, Fault
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import ours, pods, reach
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.specs import gang

IMAGE = "registry.example.org/team/train:1.4"


def started(folder: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The container's command with these modules and no others of MLHub's."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    # python of the image, without the packages that are installed here
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    environment = {"PATH": str(folder / "bin"), "PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1"}
    command = image_check.command(IMAGE)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def runtime(version: str) -> dict[str, str]:
    return {
        "mlhub/__init__.py": "",
        "mlhub/_version.py": f'__version__ = "{version}"',
        "mlhub/runtime/__init__.py": "",
        "mlhub/runtime/__main__.py": "import sys\nprint('the runtime ran')\nsys.exit(5)",
        "torch/__init__.py": "raise AssertionError('nothing is imported to look whether it is there')",
    }


def test_an_image_with_the_runtime_of_this_version_runs_it(tmp_path: Path) -> None:
    done = started(tmp_path, runtime(__version__))
    assert (done.stdout, done.returncode) == ("the runtime ran\n", 5), done.stderr


@pytest.mark.parametrize(
    ("files", "expected_text"),
    [
        ({}, "lacks MLHub's runtime (No module named 'mlhub')"),
        ({"mlhub/__init__.py": ""}, "lacks MLHub's runtime (No module named 'mlhub._version')"),
        (
            {name: text for name, text in runtime(__version__).items() if "torch" not in name},
            "lacks MLHub's runtime (torch)",
        ),
        (runtime("0.0.1"), f"has MLHub's runtime 0.0.1, and the platform is {__version__}"),
    ],
)
def test_another_image_ends_with_a_line_that_names_it_and_the_remedy(
    tmp_path: Path, files: dict[str, str], expected_text: str
) -> None:
    done = started(tmp_path, files)
    assert done.returncode == ExitCode.JOB_IMAGE, done.stderr
    assert "the runtime ran" not in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last == f"The image {IMAGE} {expected_text}. Build it FROM mlhub-runtime:{__version__}."


@pytest.fixture
def allowing(connect: Callable[..., KubernetesBackend], kubelet: Kubelet) -> KubernetesBackend:
    return connect(unschedulable_after_s=0.0, images="registry.example.org/team/")  # type: ignore[arg-type]


def test_a_gang_runs_in_the_image_of_its_job(server: ApiServer, allowing: KubernetesBackend) -> None:
    spec = replace(gang("done", workers=2, servers=1), image=IMAGE)
    allowing.launch(spec)
    assert [p["spec"]["containers"][0]["image"] == IMAGE for p in pods(server)] == [False, True, True]
    assert reach(allowing, spec, GangPhase.SUCCEEDED).cause is None


@pytest.mark.parametrize("image", ["registry.example.org/teamwork/train:1", "evil.example.org/miner:1"])
def test_an_image_that_is_not_allowed_any_more_is_never_started(
    server: ApiServer, allowing: KubernetesBackend, image: str
) -> None:
    with pytest.raises(LaunchError, match=f"The image {image} is not allowed") as refused:
        allowing.launch(replace(gang(), image=image))
    assert refused.value.cause is Cause.JOB_IMAGE
    assert ours(server) == []


def test_an_image_that_cannot_be_pulled_ends_the_job_and_names_it(
    server: ApiServer, allowing: KubernetesBackend
) -> None:
    spec = replace(gang(["run", "own image"], workers=2), image=IMAGE)
    allowing.launch(spec)
    status = reach(allowing, spec, GangPhase.FAILED)
    assert status.cause is Cause.JOB_IMAGE
    assert status.cause.fault is Fault.USER
    assert status.message == (
        f'image of the job: worker 1 on node-2: {IMAGE} cannot be pulled: Back-off pulling image "nowhere"'
    )
    allowing.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []


def test_an_image_that_is_being_pulled_is_a_gang_that_starts(allowing: KubernetesBackend) -> None:
    spec = replace(gang(["run", "pulling"], workers=2), image=IMAGE)
    allowing.launch(spec)
    for _ in range(3):
        status = reach(allowing, spec, GangPhase.STARTING)
        assert (status.cause, status.message) == (None, "")


def test_an_image_without_the_runtime_fails_by_the_users_fault(allowing: KubernetesBackend) -> None:
    spec = replace(gang([f"exit {int(ExitCode.JOB_IMAGE)}", "run"], workers=2), image=IMAGE)
    allowing.launch(spec)
    assert reach(allowing, spec, GangPhase.FAILED).cause is Cause.JOB_IMAGE
