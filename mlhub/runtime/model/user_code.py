# SPDX-License-Identifier: Apache-2.0
"""Calls of the user's code: what it raises, and what never ends, becomes an error with a remedy."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from mlhub.runtime.errors import BadInputError, NotANumberError, classify
from mlhub.wire.exits import Cause

PATIENCE_S = 120.0  # for one call of the user's code


class _TookTooLong(BaseException):
    pass


@contextlib.contextmanager
def tried(name: str, remedy: str, *, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Turns errors of the user's code inside into a BadInputError about `name`; memory and NaN errors pass.

    patience_s: after so many seconds Python code is interrupted, so that the traceback shows where it hangs.
    """

    def interrupt(*_: object) -> None:
        raise _TookTooLong

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, patience_s)
    try:
        yield
    except _TookTooLong as error:
        raise BadInputError(
            f"{name} did not come to an end in {patience_s:.0f} s.",
            field=name,
            remedy="Look for an endless loop or a wait; the traceback shows where it was.",
            code="too_slow",
        ) from error
    except (BadInputError, NotANumberError, MemoryError):
        raise
    except Exception as error:
        if classify(error)[1] is Cause.OUT_OF_MEMORY:
            raise MemoryError(str(error)) from error
        raise BadInputError(
            f"{name} raised {type(error).__name__}: {error}", field=name, remedy=remedy, code="user_code"
        ) from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
