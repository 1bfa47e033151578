# SPDX-License-Identifier: Apache-2.0
"""Code that brings a container image: found in its pyproject.toml, allowed or refused, and taken by its jobs."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.environments.models import PythonEnvironment
from mlhub.jobs.models import Attempt, Job
from mlhub.registry import tasks
from mlhub.registry.models import ModelVersion
from tests.cast import Cast, make_cast
from tests.datasets.files import zipped
from tests.jobs.builders import ready_dataset
from tests.registry.packages import a_dataset, trained, upload

pytestmark = pytest.mark.django_db
IMAGE, OTHER = "registry.example.org/team/train:1.4", "registry.example.org/team/other:2"
SCRIPT = b'"""Trains."""\n'
BRINGS = f'[project]\nname = "x"\nversion = "1"\n[tool.mlhub]\nimage = "{IMAGE}"\n'.encode()


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


@pytest.fixture
def cluster(settings: Any) -> Any:
    settings.BACKEND, settings.KUBERNETES = "kubernetes", {"images": "registry.example.org/team/"}
    return settings


@pytest.fixture(autouse=True)
def inspected_here(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Uploads are looked into on this machine, also where the settings name a cluster."""
    inspect = tasks.inspect

    def here(*given: Any, **options: Any) -> Any:
        backend, settings.BACKEND = settings.BACKEND, "local"
        try:
            return inspect(*given, **options)
        finally:
            settings.BACKEND = backend

    monkeypatch.setattr(tasks, "inspect", here)


def validated(cast: Cast, files: dict[str, bytes], **given: Any) -> dict[str, Any]:
    bob = cast.client(cast.bob)
    answer = upload(bob, cast.project_a, content=zipped(files), **{"kind": "script", "entry": "train.py", **given})
    assert answer.status_code == 201, answer.json()
    version = answer.json()["latest_version"]["id"]
    tasks.validate_version(version)
    found: dict[str, Any] = bob.get(f"/api/v1/model-versions/{version}").json()
    return found


def submit(cast: Cast, version: str, **body: Any) -> Any:
    request = {
        "dataset_version": str(ready_dataset(cast.project_a, cast.bob).id), "model_version": version, "epochs": 1,
        "batch_size": 8, **body,
    }  # fmt: skip
    return cast.client(cast.bob).post("/api/v1/jobs", request, format="json")


def launched(job: dict[str, Any]) -> str:
    attempt = Attempt.objects.create(job=Job.objects.get(pk=job["id"]), number=1, mode="all_reduce", n_workers=1)
    return launch_spec(attempt).image


def test_a_job_runs_in_the_image_of_its_code_unless_it_names_its_own(cast: Cast, cluster: Any) -> None:
    version = validated(cast, {"train.py": SCRIPT, "pyproject.toml": BRINGS})
    assert (version["state"], version["image"], version["contract"]["description"]) == ("ready", IMAGE, "Trains.")
    inherits, names = submit(cast, version["id"]).json(), submit(cast, version["id"], image=OTHER).json()
    assert (inherits["image"], names["image"]) == ("", OTHER)
    assert (launched(inherits), launched(names)) == (IMAGE, OTHER)
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{inherits['id']}").json()
    assert (shown["image"], shown["code_image"]) == ("", IMAGE)
    clone = cast.client(cast.bob).post(f"/api/v1/jobs/{inherits['id']}/clone", {}, format="json").json()
    assert (clone["image"], launched(clone)) == ("", IMAGE)
    plain = validated(cast, {"train.py": SCRIPT}, name="plain")
    assert (plain["image"], launched(submit(cast, plain["id"]).json())) == ("", "")


def test_weights_run_in_the_image_of_the_code_that_trained_them(cast: Cast, cluster: Any) -> None:
    code = ModelVersion.objects.get(pk=validated(cast, {"train.py": SCRIPT, "pyproject.toml": BRINGS})["id"])
    weights = trained(code, a_dataset(cast.project_a, cast.bob), cast.bob)
    assert launched(submit(cast, str(weights.id)).json()) == IMAGE


def test_the_folder_of_a_scripts_entry_comes_before_the_top(cast: Cast, cluster: Any) -> None:
    near = BRINGS.replace(IMAGE.encode(), OTHER.encode())
    files = {"src/train.py": SCRIPT, "src/pyproject.toml": near, "pyproject.toml": BRINGS}
    assert validated(cast, files, entry="src/train.py")["image"] == OTHER
    without = files | {"src/pyproject.toml": b'[project]\nname = "x"\nversion = "1"\n'}
    assert validated(cast, without, name="n", entry="src/train.py")["image"] == IMAGE


def test_where_pods_run_in_no_container_the_code_is_refused_before_its_packages_are_built(cast: Cast) -> None:
    version = validated(cast, {"train.py": SCRIPT, "pyproject.toml": BRINGS, "requirements.txt": b"six\n"})
    error = version["error"]
    assert (version["state"], error["field"]) == ("refused", "image")
    assert error["message"] == f"Pods of the backend local run in no container, so that {IMAGE} cannot be used."
    assert error["remedy"].startswith("Leave image out of pyproject.toml, and name the packages")
    assert not PythonEnvironment.objects.exists()


def test_a_package_is_refused_for_its_image_and_not_for_what_only_the_image_has(cast: Cast, cluster: Any) -> None:
    cluster.KUBERNETES = {"images": "other.example.org/"}
    code = {"model.py": b"import only_in_the_image\ndef build_model(h): pass\n", "pyproject.toml": BRINGS}
    version = validated(cast, code, kind="package", entry="model")
    assert (version["state"], version["error"]["field"]) == ("refused", "image")
    assert "none of the images that are allowed here (other.example.org/)" in version["error"]["message"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"[tool.mlhub]\nimage = 3\n", "the image '3' is no reference"),
        (b'[tool.mlhub]\nimage = ""\n', "the image '' is no reference"),
        (b'[tool.mlhub]\nimage = "https://registry.example.org/a"\n', "is no reference of a container image"),
        (b'[tool.mlhub]\nimag = "a"\n', "[tool.mlhub] has 'imag', which is no setting"),
        (b'[tool]\nmlhub = "a"\n', "tool.mlhub is no table"),
        (b"[tool.mlhub]\nimage = \n", "pyproject.toml is not valid TOML"),
        (b'[tool.mlhub]\nimage = "\xff"\n', "pyproject.toml is not valid TOML"),
    ],
)
def test_what_is_no_image_is_refused_with_the_field_and_the_remedy(
    cast: Cast, cluster: Any, table: bytes, words: str
) -> None:
    version = validated(cast, {"train.py": SCRIPT, "pyproject.toml": table})
    assert (version["state"], version["error"]["field"]) == ("refused", "image")
    assert words in version["error"]["message"]
    assert version["error"]["remedy"]


def test_a_file_of_other_tools_that_is_no_toml_is_their_own_affair(cast: Cast, cluster: Any) -> None:
    version = validated(cast, {"train.py": SCRIPT, "requirements.txt": b"", "pyproject.toml": b"{{ cookiecutter }}"})
    assert (version["state"], version["image"]) == ("ready", ""), version["error"]


def test_a_job_is_refused_once_the_image_of_its_code_is_not_allowed_any_more(cast: Cast, cluster: Any) -> None:
    version = validated(cast, {"train.py": SCRIPT, "pyproject.toml": BRINGS})
    cluster.KUBERNETES = {}
    answer = submit(cast, version["id"])
    assert answer.status_code == 422, answer.content
    [error] = answer.json()["errors"]
    assert (error["field"], error["message"]) == ("image", f"{IMAGE} cannot be used: images are not allowed here.")
    assert "Leave image out of pyproject.toml" in error["remedy"]
    study = {
        "name": "s", "algorithm": "random", "metric": "eval/accuracy", "direction": "maximize",
        "space": {"learning_rate": {"log_uniform": [0.001, 0.1]}},
        "job": {"dataset_version": str(ready_dataset(cast.project_a, cast.bob).id), "model_version": version["id"]},
    }  # fmt: skip
    refused = cast.client(cast.bob).post("/api/v1/studies", study, format="json")
    assert refused.json()["errors"][0]["field"] == "image", refused.content
