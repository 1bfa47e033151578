# SPDX-License-Identifier: Apache-2.0
"""The warm predictors of this process: a bounded number, each for one model version, closed when it was not used.

A request for a model that is loaded takes milliseconds, one for another model some seconds, for the import of torch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings

from mlhub.core.errors import DomainError, RateLimitedError, UnavailableError
from mlhub.core.rate_limits.fair_seats import FairSeats
from mlhub.registry.models import ModelVersion
from mlhub.registry.predictors.predictor import Predictor, StartProgram

PATIENCE_S = 60.0  # for the request before
RETRY_AFTER_S = 5
STARTED_WITHIN_S = 20.0  # the process of the sandbox; the model is loaded after that
FAILED_FOR_S = 30.0


class LoadedModel(Protocol):
    """What the pool keeps."""

    @property
    def is_running(self) -> bool: ...

    def predict(self, rows: Sequence[Any]) -> list[Any]: ...

    def close(self) -> None: ...


class Load(Protocol):
    """Loads a model; what has to be done in a thread that lives on goes through start."""

    def __call__(self, version: ModelVersion, *, start: StartProgram) -> LoadedModel: ...


@dataclass
class _Slot:
    """predictor: None until it is loaded. failure: why it could not be loaded at failed_at. n_users: requests that use
    or wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    predictor: LoadedModel | None = None
    failure: DomainError | None = None
    failed_at: float = 0.0
    used_at: float = 0.0
    n_users: int = 0


class PredictorPool:
    """At most n_predictors at a time; one that was not used for idle_s is closed."""

    def __init__(
        self,
        n_predictors: int,
        *,
        idle_s: float,
        load: Load = Predictor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_predictors, self._idle_s, self._load, self._clock = n_predictors, idle_s, load, clock
        self._slots: dict[UUID, _Slot] = {}
        self._lock = threading.Lock()
        # the kernel ends a sandbox with the thread that started it, and the threads of requests end
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="predictors")
        self._timer: threading.Timer | None = None

    def predict(self, version: ModelVersion, rows: Sequence[Any]) -> list[Any]:
        """Raises RateLimitedError when all predictors are in use, UnavailableError when the sandbox cannot be set up,
        and what Predictor raises."""
        with self._used(version.pk) as slot:
            if slot.predictor is None or not slot.predictor.is_running:
                _close(slot)
                slot.predictor = self._loaded(version, slot)
            return slot.predictor.predict(rows)

    def close_idle(self) -> int:
        """Closes what was not used for idle_s; returns how many."""
        before = self._clock() - self._idle_s
        with self._lock:
            idle = [key for key, slot in self._slots.items() if not slot.n_users and slot.used_at <= before]
            closed = [self._slots.pop(key) for key in idle]
        for slot in closed:
            _close(slot)
        return len(closed)

    def close(self) -> None:
        """Closes all predictors."""
        with self._lock:
            closed, self._slots = list(self._slots.values()), {}
            if self._timer is not None:
                self._timer.cancel()
        for slot in closed:
            _close(slot)
        self._starter.shutdown()

    def _loaded(self, version: ModelVersion, slot: _Slot) -> LoadedModel:
        """Raises what kept the model from being loaded; for a while without trying again."""
        if slot.failure is not None and self._clock() - slot.failed_at < FAILED_FOR_S:
            raise slot.failure
        slot.failure = None
        try:
            return self._load(version, start=lambda program: self._starter.submit(program).result(STARTED_WITHIN_S))
        except DomainError as error:
            slot.failure, slot.failed_at = error, self._clock()
            raise
        except (OSError, TimeoutError) as error:
            raise UnavailableError(
                f"The sandbox could not be set up: {error}",
                remedy="Try again later, or start a prediction job.",
                retry_after_s=RETRY_AFTER_S,
            ) from error

    @contextmanager
    def _used(self, key: UUID) -> Iterator[_Slot]:
        slot = self._reserved(key)
        try:
            if not slot.lock.acquire(timeout=PATIENCE_S):
                raise _busy()
            try:
                yield slot
            finally:
                slot.lock.release()
        finally:
            with self._lock:
                slot.n_users -= 1
                slot.used_at = self._clock()
                self._watch()

    def _reserved(self, key: UUID) -> _Slot:
        """The slot of the model, in the place of the one that was not used for longest where all are taken."""
        replaced = None
        with self._lock:
            if key not in self._slots and len(self._slots) >= self._n_predictors:
                free = [other for other, slot in self._slots.items() if not slot.n_users]
                if not free:
                    raise _busy()
                replaced = self._slots.pop(min(free, key=lambda other: self._slots[other].used_at))
            slot = self._slots.setdefault(key, _Slot())
            slot.n_users += 1
        if replaced is not None:
            _close(replaced)
        return slot

    def _watch(self) -> None:
        """Looks for idle predictors for as long as there are any."""
        if self._timer is None or not self._timer.is_alive():
            self._timer = threading.Timer(self._idle_s + 1.0, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self.close_idle()
        with self._lock:
            self._timer = None
            if self._slots:
                self._watch()


@cache
def predictor_pool() -> PredictorPool:
    """The pool of this process."""
    return PredictorPool(settings.PREDICTORS, idle_s=settings.PREDICTOR_IDLE_S)


@cache
def prediction_seats() -> FairSeats:
    """Organisations take turns, so that none keeps the others from trying models out."""
    return FairSeats(settings.PREDICTORS)


def _close(slot: _Slot) -> None:
    predictor, slot.predictor = slot.predictor, None
    if predictor is not None:
        predictor.close()


def _busy() -> RateLimitedError:
    return RateLimitedError(
        "Other models are being tried out at this moment.",
        code="too_many_at_once",
        remedy=f"Wait {RETRY_AFTER_S} s, then send it again, or start a prediction job.",
        retry_after_s=RETRY_AFTER_S,
    )
