# SPDX-License-Identifier: Apache-2.0
"""One platform for all tests of this folder: each works in an organisation of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.platform import RunningPlatform, running


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    with running(tmp_path_factory.mktemp("e2e")) as found:
        yield found
