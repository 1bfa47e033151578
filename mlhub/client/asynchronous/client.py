# SPDX-License-Identifier: Apache-2.0
"""The client of the whole API: a resource for each path, such as `client.jobs`."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from mlhub.client.asynchronous.transport import PATIENCE_S, AsyncTransport
from mlhub.client.asynchronous.waiting import (
    AsyncDatasets,
    AsyncDatasetVersions,
    AsyncJobs,
    AsyncModels,
    AsyncModelVersions,
    AsyncStudies,
)
from mlhub.client.generated.asynchronous import AsyncOperations
from mlhub.client.requests import Progress

URL, TOKEN = "MLHUB_URL", "MLHUB_TOKEN"  # as the command line's
DEFAULT_URL = "http://127.0.0.1:8000"


class AsyncClient(AsyncOperations):
    """Every operation of the REST API, typed.

    url, token: by default $MLHUB_URL and $MLHUB_TOKEN. patience_s: for how long requests are repeated, where that is
    safe, while the platform is away or asks to wait. progress: called with a line of text whenever something happens to
    an upload or to what is waited for, such as print, or ProgressLine() for one line that changes in place. Raises
    ValueError without a token, NotSignedIn for one that cannot be sent. Requests raise Refused (its subclasses by
    status) and Unreachable.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
        progress: Progress | None = None,
    ) -> None:
        address = url or os.environ.get(URL) or DEFAULT_URL
        secret = token or os.environ.get(TOKEN) or ""
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"url: {address!r} is no address. It begins with https:// or http://.")
        if not secret:
            raise ValueError(f"token: give an API token, or set {TOKEN}. The page *API tokens* makes one.")
        self.transport = AsyncTransport(address, secret, patience_s=patience_s, progress=progress)
        super().__init__(self.transport)
        self.jobs: AsyncJobs = AsyncJobs(self.transport)
        self.studies: AsyncStudies = AsyncStudies(self.transport)
        self.datasets: AsyncDatasets = AsyncDatasets(self.transport)
        self.models: AsyncModels = AsyncModels(self.transport)
        self.dataset_versions: AsyncDatasetVersions = AsyncDatasetVersions(self.transport)
        self.model_versions: AsyncModelVersions = AsyncModelVersions(self.transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.transport.aclose()
