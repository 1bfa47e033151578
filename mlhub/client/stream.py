# SPDX-License-Identifier: Apache-2.0
"""A job as it goes on: the frames of its stream of events, also past a broken connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlhub.client.api import Api


def frames(api: Api, job_id: str, cursor: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What comes after a cursor, as (event, data): "job", "event", "metrics", "log", at last "end".

    A connection that breaks is made again where it stopped, for at most api.patience_s. Lines and points since the last
    cursor then come twice, with the same seq. Raises Refused, httpx.TransportError.
    """
    for frame in api.transport.stream(f"/jobs/{job_id}/stream", cursor=cursor):
        yield frame.event, frame.data
