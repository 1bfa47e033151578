# SPDX-License-Identifier: Apache-2.0
"""Ids: UUIDs of version 7 that rise in the order in which they were made."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from mlhub.core.ids import new_id


def test_ids_rise_even_within_a_millisecond():
    made = [new_id() for _ in range(5_000)]
    assert made == sorted(made)


def test_an_id_is_of_version_7_and_carries_its_time():
    before, made, after = time.time(), new_id(), time.time()
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert int(before * 1000) <= made.int >> 80 <= int(after * 1000) + 1


def test_threads_get_different_ids():
    with ThreadPoolExecutor(4) as pool:
        made = [id for ids in pool.map(lambda _: [new_id() for _ in range(500)], range(4)) for id in ids]
    assert len(set(made)) == 2000
