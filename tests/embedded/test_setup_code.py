# SPDX-License-Identifier: Apache-2.0
"""What `make up` prints on a fresh platform, and that it prints nothing on others."""

from __future__ import annotations

import os
from urllib.parse import quote

import pytest
from django.db import connection
from rest_framework.test import APIClient

from mlhub.embedded.setup_code import read_setup_code
from mlhub.tenants.models import User


@pytest.fixture
def environment() -> dict[str, str]:
    """That of a platform whose database is the test's."""
    found = connection.settings_dict
    where = f"{quote(found['USER'])}:{quote(found['PASSWORD'])}@{found['HOST']}:{found['PORT']}/{found['NAME']}"
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "mlhub.settings", "DATABASE_URL": f"postgresql://{where}"}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_printed_code_makes_the_first_administrator_and_none_is_printed_afterwards(live_server, environment):
    code = read_setup_code(live_server.url, environment)
    body = {"code": code, "username": "dora", "password": "correct horse battery"}
    assert APIClient().post("/api/v1/auth/setup", body).status_code == 201
    assert User.objects.get().is_staff
    assert read_setup_code(live_server.url, environment) == ""


def test_a_platform_that_does_not_answer_has_no_code():
    assert read_setup_code("http://127.0.0.1:9", {}) == ""
