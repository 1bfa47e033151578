# SPDX-License-Identifier: Apache-2.0
"""Objects read by hand-written SQL are those that Django's own queries make."""

from __future__ import annotations

import pytest
from django.db import models

from mlhub.core.database.columns import ModelColumns, read_first
from mlhub.tenants.models import ApiToken, Organisation, User
from tests.cast import make_cast

pytestmark = pytest.mark.django_db


def values_of(found: models.Model) -> dict[str, object]:
    return {field.attname: getattr(found, field.attname) for field in found._meta.concrete_fields}


def test_each_object_of_a_join_has_all_that_django_reads() -> None:
    cast = make_cast()
    token = ApiToken.objects.create(
        user=cast.bob, name="ci", prefix="mlh_1", token_hash="a" * 64, scopes=["read"], project=cast.project_a
    )
    tokens, users = ModelColumns(ApiToken, "t"), ModelColumns(User, "u")
    sql = f"SELECT {tokens.sql}, {users.sql} FROM tenants_apitoken t JOIN tenants_user u ON u.id = t.user_id"
    found = read_first(f"{sql} WHERE t.id = %s", [token.pk], (tokens, users))
    assert found is not None
    assert [values_of(one) for one in found] == [
        values_of(ApiToken.objects.get(pk=token.pk)),
        values_of(User.objects.get(pk=cast.bob.pk)),
    ]
    assert not any(one.get_deferred_fields() or one._state.adding for one in found)
    found[0].name = "renamed"
    found[0].save()
    assert ApiToken.objects.get().name == "renamed"


def test_a_row_that_is_not_there_is_none() -> None:
    rows = ModelColumns(Organisation, "o")
    sql = f"SELECT {rows.sql} FROM tenants_organisation o WHERE o.name = %s"
    assert read_first(sql, ["nobody's"], (rows,)) is None
