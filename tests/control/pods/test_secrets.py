# SPDX-License-Identifier: Apache-2.0
"""A job whose secrets are not all there does not start without them."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from mlhub.core.errors import InvalidInputError
from mlhub.environments.models import ProjectSecret
from mlhub.environments.secrets import check_secrets, put_secret
from mlhub.jobs.actions import resume_job
from mlhub.jobs.models import Attempt
from tests.cast import make_cast
from tests.control.worlds import World, state

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def set_secret(world: World, name: str) -> None:
    put_secret(world.cast.project_a, name=name, value="s3cret-value", actor=world.cast.bob)


def change_key(settings: LazySettings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key, and the earlier one was forgotten", []


@pytest.mark.parametrize(
    ("is_deleted", "message"),
    [
        (True, "The project has no secret LOST any more."),
        (False, "No key of the platform decrypts the project's secret LOST."),
    ],
)
def test_a_job_whose_secret_was_lost_ends_with_its_name_and_the_remedy_and_goes_on_once_it_is_set_again(
    world: World, settings: LazySettings, is_deleted: bool, message: str
) -> None:
    set_secret(world, "LOST")
    if is_deleted:
        ProjectSecret.objects.all().delete()
    else:
        change_key(settings)
    set_secret(world, "KEPT")
    lost = world.job(name="lost", max_workers=1, secrets=["KEPT", "LOST"])
    other = world.job(name="other", max_workers=1, secrets=["KEPT"])
    world.rounds(2)
    assert [spec.labels["job"] for spec in world.backend.launches] == ["other"]
    assert (state(lost), state(other)) == ("failed", "running")
    lost.refresh_from_db()
    assert (lost.failure["cause"], lost.failure["fault"]) == ("secret", "user")
    assert lost.failure["message"] == f"A secret that the job names cannot be given to it. {message}"
    assert "Set it again" in lost.failure["remedy"]
    assert "manage.py reencrypt" in lost.failure["remedy"]
    assert Attempt.objects.get(job=lost).cause == "secret"
    set_secret(world, "LOST")
    resume_job(lost, actor=world.cast.bob)
    world.rounds(2)
    assert state(lost) == "running"
    assert set(world.backend.launches[-1].secrets) >= {"KEPT", "LOST"}


def test_a_job_with_a_secret_that_no_key_decrypts_is_refused_at_its_submission(
    world: World, settings: LazySettings
) -> None:
    set_secret(world, "LOST")
    change_key(settings)
    set_secret(world, "KEPT")
    check_secrets(world.cast.project_a, ["KEPT"])
    with pytest.raises(InvalidInputError, match="No key of the platform decrypts the project's secret LOST") as refused:
        check_secrets(world.cast.project_a, ["KEPT", "LOST"])
    assert "mlhub secret set LOST" in str(refused.value.remedy)
