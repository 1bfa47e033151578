# SPDX-License-Identifier: Apache-2.0
"""Numbers of requests, by which a server that came back knows what it has received before.

The upper half identifies one incarnation of a worker, at random; the lower half counts. A worker that replaces a dead
one is another sender: none of its requests is a repetition.
"""

from __future__ import annotations

import itertools
import secrets

_COUNT_BITS = 32
_COUNT = (1 << _COUNT_BITS) - 1


class RequestNumbers:
    """Numbers one worker's requests; several threads may call next()."""

    def __init__(self) -> None:
        self._sender = secrets.randbits(31) << _COUNT_BITS
        self._count = itertools.count(1)

    def next(self) -> int:
        return self._sender | (next(self._count) & _COUNT)


def was_received(number: int, last: int) -> bool:
    """Whether the sender of the request `last` has made `number` before it, or the same."""
    return number != 0 and number >> _COUNT_BITS == last >> _COUNT_BITS and number & _COUNT <= last & _COUNT
