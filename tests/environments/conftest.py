# SPDX-License-Identifier: Apache-2.0
"""The people of these tests, and a platform whose only package source is a folder of wheels."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from django.utils import timezone

from tests.cast import Cast, make_cast
from tests.environments.wheels import write_wheelhouse


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


@pytest.fixture
def wheelhouse(tmp_path: Path, settings) -> Path:
    folder = write_wheelhouse(tmp_path / "wheelhouse")
    settings.PACKAGE_INDEX_URL, settings.WHEELHOUSE = "", str(folder)
    settings.ENVIRONMENT_ROOT = tmp_path / "environments"
    return folder


@pytest.fixture
def now() -> datetime:
    return timezone.now()
