# SPDX-License-Identifier: Apache-2.0
"""The estimator knows every setting of a training job, and sends none that the API does not take."""

from __future__ import annotations

from dataclasses import fields

import pytest

from mlhub.client import Estimator
from mlhub.jobs.api.requests import JobSettingsSerializer, JobSubmitSerializer

OF_THE_CLIENT = {"model", "label", "features", "url", "token", "project", "progress"}
OF_ALL_REDUCE_OR_SERVERS = {"mode"}  # a strategy says it


def test_the_options_of_an_estimator_are_the_settings_of_a_job() -> None:
    options = {field.name for field in fields(Estimator)} - OF_THE_CLIENT
    assert options == set(JobSettingsSerializer().fields) - OF_ALL_REDUCE_OR_SERVERS


@pytest.mark.django_db
def test_what_an_estimator_is_given_is_a_valid_request() -> None:
    estimator = Estimator(resources={"memory_gib": 4}, limits={"stall_s": 900}, strategy="ssp", epochs=2)
    ids = {"dataset": "00000000-0000-7000-8000-0000000000d1", "model": "00000000-0000-7000-8000-0000000000e1"}
    request = JobSubmitSerializer(data={**ids, **estimator._training_options()})
    assert request.is_valid(), request.errors
    assert request.validated_data["resources"] == {"memory_gib": 4.0}
    assert request.validated_data["limits"] == {"stall_s": 900.0}
