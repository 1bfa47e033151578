# SPDX-License-Identifier: Apache-2.0
"""The people of these tests."""

from __future__ import annotations

import pytest

from tests.cast import Cast, make_cast


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()
