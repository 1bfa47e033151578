# SPDX-License-Identifier: Apache-2.0
"""The layer of an environment counts in the storage of each project whose code requires it, and once in all."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.environments import actions
from mlhub.environments.models import PythonEnvironment
from mlhub.registry.actions import accept_version, change_environment, refuse_version, require_environment
from mlhub.registry.models import ModelVersion
from mlhub.storage.actions import used_bytes
from mlhub.tenants.models import Project, Quota
from tests.cast import Cast
from tests.datasets.files import zipped
from tests.environments.test_code_that_requires_packages import LIGHT, uploaded
from tests.registry.packages import upload

REQUIRED = {"requirements": ["greeting"], "origin": "requirements.txt"}


@pytest.fixture(autouse=True)
def speech(cast: Cast) -> Project:
    """Another project. What is used is shown where there is a limit: of each and of the organisation there is one."""
    made = Project.objects.create(organisation=cast.a, name="speech")
    for project in (cast.project_a, made):
        limit(cast, project, 10**9)
    Quota.objects.update_or_create(organisation=cast.a, defaults={"max_storage_bytes": 10**9})
    return made


def limit(cast: Cast, project: Project, n_bytes: int) -> None:
    answer = cast.client(cast.alice).patch(f"/api/v1/projects/{project.pk}/quota", {"max_storage_bytes": n_bytes})
    assert answer.status_code == 200, answer.json()


def code(cast: Cast, project: Project, **given: Any) -> ModelVersion:
    """A version that waits for its environment."""
    pk = uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting"}, project=project, **given)
    version = ModelVersion.objects.select_related("model__project__organisation").get(pk=pk)
    require_environment(version, **REQUIRED)
    return version


def built(environment: PythonEnvironment, tmp_path: Any, *, size: int = 4000) -> PythonEnvironment:
    folder = tmp_path / f"{environment.pk}"
    (folder / "greeting-1.0.dist-info").mkdir(parents=True)
    (folder / "greeting-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    (folder / "greeting.py").write_bytes(bytes(range(256)) * (size // 256))
    assert actions.finish_build(environment, folder, scratch=tmp_path / f"{environment.pk}.zip")
    environment.refresh_from_db()
    assert environment.size_bytes > 0
    return environment


def stored(cast: Cast) -> dict[str, int]:
    """By organisation, team or project, as the quota's page shows it."""
    owners = cast.client(cast.alice).get(f"/api/v1/organisations/{cast.a.pk}/quota-tree").json()["owners"]
    return {owner["name"]: owner["storage_bytes"] for owner in owners}


def test_a_layer_counts_once_in_each_project_that_requires_it_and_once_in_all(cast, speech, tmp_path):
    first, second, other = (
        code(cast, cast.project_a, name="one"),
        code(cast, cast.project_a, name="two"),
        code(cast, speech, name="three"),
    )
    before = stored(cast)
    environment = built(PythonEnvironment.objects.get(), tmp_path)
    size = environment.size_bytes
    assert stored(cast) == before | {"A": before["A"] + size}  # nobody's code was accepted with it yet
    for version in (first, second, other):
        assert accept_version(version.pk, contract={})
    counted = stored(cast)
    assert counted == {name: n + size for name, n in before.items()}
    assert used_bytes(cast.a) == counted["A"]
    for version in (first, second):
        assert cast.client(cast.alice).delete(f"/api/v1/models/{version.model_id}").status_code == 204
        assert stored(cast)["speech"] == counted["speech"]
    assert stored(cast)["vision"] == 0
    assert stored(cast)["A"] == counted["speech"]


def test_a_refused_version_counts_nothing(cast, tmp_path):
    version = code(cast, cast.project_a)
    built(PythonEnvironment.objects.get(), tmp_path)
    assert refuse_version(version.pk, error={"field": "file", "message": "wrong", "remedy": ""})
    assert stored(cast)["vision"] == 0


def test_an_environment_that_is_built_anew_takes_the_place_of_the_old_one(cast, tmp_path):
    version = code(cast, cast.project_a)
    before = stored(cast)["vision"]
    built(PythonEnvironment.objects.get(), tmp_path)
    assert accept_version(version.pk, contract={})
    renewed = PythonEnvironment.objects.create(organisation=cast.a, key="0" * 64, origin="x", python="3", platform="p")
    built(renewed, tmp_path, size=9000)
    version = ModelVersion.objects.select_related("environment", "model__project__organisation").get(pk=version.pk)
    change_environment(version, renewed)
    assert stored(cast)["vision"] == before + renewed.size_bytes


def test_a_project_without_room_keeps_its_code_and_refuses_the_next_upload(cast, tmp_path):
    version = code(cast, cast.project_a)
    limit(cast, cast.project_a, stored(cast)["vision"] + 100)
    built(PythonEnvironment.objects.get(), tmp_path)
    assert accept_version(version.pk, contract={})
    answer = upload(cast.client(cast.bob), cast.project_a, name="next", content=zipped({"model.py": LIGHT + b"#"}))
    assert (answer.status_code, answer.json()["code"]) == (422, "quota_exceeded")
