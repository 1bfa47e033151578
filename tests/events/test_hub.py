# SPDX-License-Identifier: Apache-2.0
"""The ear of a process: it ends with its last listener, however early that one leaves."""

from __future__ import annotations

import asyncio
from typing import Any

from mlhub.events.hub import Hub


def test_who_leaves_while_the_ear_still_subscribes_leaves_nothing_behind(servers: Any) -> None:
    async def come_and_go(seconds: float) -> set[asyncio.Task[None]]:
        async with Hub(servers.redis_url).listen("anything"):
            await asyncio.sleep(seconds)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()  # as asyncio.run does at its end
        return (await asyncio.wait(left, timeout=600))[1] if left else set()

    for n in range(60):
        assert not asyncio.run(come_and_go(n % 60 * 0.0001)), n
