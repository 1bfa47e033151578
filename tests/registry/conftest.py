"""The people of these tests, and the addresses that stand already."""

from __future__ import annotations

import pytest

from tests.cast import Cast, make_cast


@pytest.fixture(autouse=True)
def _addresses(settings):
    settings.ROOT_URLCONF = "tests.partial_urls"


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()
