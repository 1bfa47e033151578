# SPDX-License-Identifier: Apache-2.0
"""Environments through the API: who sees them, their log, and what is removed once no code requires it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.environments.models import PythonEnvironment
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention.tasks import remove_expired
from mlhub.storage.models import Holding
from tests.environments.test_code_that_requires_packages import LIGHT, settled, uploaded

pytestmark = pytest.mark.slow

FILES = {"model.py": LIGHT, "requirements.txt": b"greeting\n"}


def test_people_of_the_organisation_see_environments_and_their_log_and_others_do_not(cast, wheelhouse):
    version = settled(uploaded(cast, FILES))
    bob, charlie = cast.client(cast.bob), cast.client(cast.charlie)
    address = f"/api/v1/environments/{version.environment_id}"
    (listed,) = bob.get(f"/api/v1/environments?organisation={cast.a.id}&state=ready").json()["results"]
    assert listed == bob.get(address).json()
    of = {"id": str(version.model_id), "name": version.model.name}
    assert (listed["n_versions"], listed["used_by"]) == (1, [{"id": str(version.id), "number": 1, "model": of}])
    assert (listed["requirements"], listed["error"]) == (["greeting"], None)
    assert "+ greeting==1.0" in bob.get(f"{address}/log").json()["log"]
    brief = bob.get(f"/api/v1/model-versions/{version.id}").json()["environment"]
    assert (brief["id"], brief["state"], brief["origin"]) == (listed["id"], "ready", "requirements.txt")
    assert charlie.get("/api/v1/environments").json()["results"] == []
    assert [charlie.get(path).status_code for path in (address, f"{address}/log")] == [404, 404]


def test_a_failed_build_is_explained_in_the_language_of_the_request(cast, wheelhouse, settings):
    settings.MAX_ENVIRONMENT_BYTES = 10
    version = settled(uploaded(cast, FILES))
    bob = cast.client(cast.bob)
    addresses = [f"/api/v1/environments/{version.environment_id}", f"/api/v1/model-versions/{version.id}"]
    for english, chinese in [
        (bob.get(address).json()["error"], bob.get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").json()["error"])
        for address in addresses
    ]:
        assert (english["code"], chinese["code"]) == ("too_large", "too_large")
        assert english["message"].startswith("The environment could not be built: The packages take")
        assert chinese["message"].startswith("无法构建环境：软件包占 ")
        assert chinese["message"].endswith("最多允许 10。")
        assert "限制是 MLHUB_MAX_ENVIRONMENT_BYTES。" in chinese["remedy"]


def test_two_organisations_have_environments_of_their_own_that_share_their_bytes(cast, wheelhouse):
    first = settled(uploaded(cast, FILES))
    second = settled(uploaded(cast, FILES, client=cast.client(cast.charlie), project=cast.project_b))
    assert first.environment_id != second.environment_id
    assert first.environment.layer_id == second.environment.layer_id
    assert Holding.objects.filter(blob=first.environment.layer_id, owner_kind="environment").count() == 2


def test_an_environment_is_removed_days_after_the_last_code_that_required_it(cast, wheelhouse):
    version = settled(uploaded(cast, FILES))
    PythonEnvironment.objects.update(finished_at=timezone.now() - timedelta(days=30))
    assert not remove_expired().get("environments"), "a version requires it"
    ModelVersion.objects.filter(pk=version.pk).delete()
    Model.objects.all().delete()
    assert remove_expired()["environments"] == 1
    assert not PythonEnvironment.objects.exists()
    assert not Holding.objects.filter(owner_kind="environment").exists()
