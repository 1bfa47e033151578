# SPDX-License-Identifier: Apache-2.0
"""One platform for all tests of this folder: each works in an organisation of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.environments.wheels import write_wheelhouse
from tests.platform import RunningPlatform, running


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    """The platform; its packages come from a folder of tiny wheels."""
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("MLHUB_WHEELHOUSE", str(write_wheelhouse(tmp_path_factory.mktemp("wheelhouse"))))
        with running(tmp_path_factory.mktemp("e2e")) as found:
            yield found
