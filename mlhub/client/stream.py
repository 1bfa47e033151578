# SPDX-License-Identifier: Apache-2.0
"""A job as it goes on: the frames of its stream of events, also past a broken connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import httpx_sse

from mlhub.client.api import Api

PAUSE_S = 1.0


def frames(api: Api, job_id: str, cursor: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What comes after a cursor, as (event, data): "job", "event", "metrics", "log", at last "end".

    A connection that breaks is made again where it stopped, for at most api.patience_s. Lines and points since the last
    cursor then come twice, with the same seq. Raises Refused, httpx.TransportError.
    """
    away_since = None
    while True:
        try:
            with api.streamed(f"/jobs/{job_id}/stream", **{"Last-Event-ID": cursor}) as answer:
                for frame in httpx_sse.EventSource(answer).iter_sse():
                    away_since, cursor = None, frame.id or cursor
                    if frame.event == "heartbeat":
                        continue
                    yield frame.event, frame.json()
                    if frame.event == "end":
                        return
        except httpx.TransportError:
            away_since = away_since or time.monotonic()
            if time.monotonic() > away_since + api.patience_s:
                raise
        time.sleep(PAUSE_S)
