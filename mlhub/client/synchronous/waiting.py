# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from asynchronous/: do not edit.
"""Resources with what takes its time: jobs that are followed and waited for, uploads until they are inspected."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

from mlhub.client.generated import records as r
from mlhub.client.generated.synchronous import (
    DatasetsOperations,
    DatasetVersionsOperations,
    JobsOperations,
    ModelsOperations,
    ModelVersionsOperations,
    StudiesOperations,
)
from mlhub.client.problems import Refused, Unfinished
from mlhub.client.requests import MARK, Ref, StreamEvent
from mlhub.client.synchronous.transport import Transport

POLL_S, MOST_POLL_S = 0.2, 2.0
LOG_PAGE = 5_000
ENDED = ("succeeded", "failed", "cancelled")


class Polling:
    """Pauses that grow up to two seconds, until timeout_s have passed; None: without end."""

    def __init__(self, transport: Transport, timeout_s: float | None) -> None:
        self._progress = transport.progress
        self._until = None if timeout_s is None else time.monotonic() + timeout_s
        self._pause_s, self._reported = POLL_S, ""

    def pause(self, line: str) -> None:
        """Reports a line when it is new, and waits. Raises TimeoutError."""
        self.report(line)
        if self._until is not None and time.monotonic() + self._pause_s > self._until:
            raise TimeoutError(f"{line} is how it was when the time was up. It goes on; wait again.")
        time.sleep(self._pause_s)
        self._pause_s = min(MOST_POLL_S, 1.2 * self._pause_s)

    def report(self, line: str) -> None:
        if line != self._reported and self._progress is not None:
            self._progress(line)
        self._reported = line


class Jobs(JobsOperations):
    """The operations under /jobs, with waiting and following."""

    def wait(
        self,
        id: Ref,
        /,
        *,
        timeout_s: float | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.JobDetail:
        """The job, once it has succeeded.

        organisation, project: of a name, in which it is. Raises Refused with the platform's words when it failed,
        Unfinished when it was cancelled or paused, TimeoutError after timeout_s; the job goes on then.
        """
        polling = Polling(self._transport, timeout_s)
        while True:
            job = self.get(id, organisation=organisation, project=project)
            id = job.id  # a name could mean another job by the next time
            done = f", {job.progress:.0%}" if job.state == "running" and job.progress is not None else ""
            line = f"{job.name}: {job.state}{done}"
            if job.state == "succeeded":
                polling.report(line)
                return job
            if job.state == "failed":
                polling.report(line)
                raise Refused(
                    job.failure.as_dict() if job.failure else {"detail": f"The job {job.id} failed: {job.reason}"}
                )
            if job.state in ("cancelled", "paused"):
                raise Unfinished(f"The job {job.id} was {job.state}.")
            polling.pause(line)

    def follow(
        self, id: Ref, /, *, cursor: str = "", organisation: str | None = None, project: str | None = None
    ) -> Iterator[StreamEvent]:
        """What happens to a job until it has ended: frames "job", "event", "metrics" and "log".

        cursor: of a frame, a job or a page of its log; without one, it begins now. A cut connection is made again where
        it stopped, so that nothing is lost; lines and points may then come twice, with the same seq.
        organisation, project: of a name, in which it is. Raises Refused, Unreachable.
        """
        job = self.get(id, organisation=organisation, project=project)
        if job.state in ENDED and not cursor:
            return
        for frame in self.stream(job.id, cursor=cursor or job.cursor):
            yield frame
            if frame.event == "job" and frame.data["state"] in ENDED:
                return

    def logs(
        self,
        id: Ref,
        /,
        *,
        follow: bool = False,
        role: Literal["worker", "server"] | None = None,
        index: int | None = None,
        attempt: int | None = None,
        search: str | None = None,
        is_regex: bool | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> Iterator[r.LogLine]:
        """The lines of a job's log, oldest first, each once; with follow also those to come, until the job has ended.

        role, index, attempt: only of these pods. search: only lines with this text, or this regular expression.
        organisation, project: of a name, in which it is. Raises Refused, Unreachable, ValueError.
        """
        if follow and search is not None:
            raise ValueError("search: lines to come are not searched. Leave out follow or search.")
        if isinstance(id, str) and id.startswith(MARK):
            id = (
                self.get(id, organisation=organisation, project=project)
            ).id  # a name could mean another job by the next page
        last = 0
        while True:
            page = self.log_page(
                id,
                after=last,
                limit=LOG_PAGE,
                role=role,
                index=index,
                attempt=attempt,
                search=search,
                is_regex=is_regex,
            )
            for line in page.lines:
                last = line.seq
                yield line
            if not page.is_end and page.lines:
                continue
            if not follow or (self.get(id)).state in ENDED:
                break
            for frame in self.follow(id, cursor=page.cursor):
                if frame.event != "log":
                    continue
                for content in frame.data["lines"]:
                    line = r.LogLine(content)
                    if line.seq > last and _is_of(line, role, index, attempt):
                        yield line
                    last = max(last, line.seq)
            follow = False  # what came with the end is on the last page


class Studies(StudiesOperations):
    """The operations under /studies, with waiting."""

    def wait(
        self,
        id: Ref,
        /,
        *,
        timeout_s: float | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.Study:
        """The study, once it is completed. organisation, project: of a name, in which it is.

        Raises Refused, Unfinished when it was stopped or paused, TimeoutError.
        """
        polling = Polling(self._transport, timeout_s)
        while True:
            study = self.get(id, organisation=organisation, project=project)
            id = study.id  # a name could mean another study by the next time
            line = f"{study.name}: {study.state}"
            if study.state == "completed":
                polling.report(line)
                return study
            if study.state == "failed":
                raise Refused({"detail": f"The study {study.id} failed: {study.reason}"})
            if study.state in ("stopped", "paused"):
                raise Unfinished(f"The study {study.id} was {study.state}.")
            polling.pause(line)


class DatasetVersions(DatasetVersionsOperations):
    """The operations under /dataset-versions, with waiting."""

    def wait(self, id: Ref, /, *, timeout_s: float | None = None) -> r.DatasetVersion:
        """The version, once it was fetched and inspected. Raises Refused when it was not accepted, TimeoutError."""
        polling = Polling(self._transport, timeout_s)
        while True:
            version = self.get(id)
            line = f"{version.dataset.name}, version {version.number}: {version.state}"
            if _is_accepted(version.state, version.error):
                polling.report(line)
                return version
            polling.pause(line)


class ModelVersions(ModelVersionsOperations):
    """The operations under /model-versions, with waiting."""

    def wait(self, id: Ref, /, *, timeout_s: float | None = None) -> r.ModelVersionDetail:
        """The version, once it was inspected. Raises Refused when it was not accepted, TimeoutError."""
        polling = Polling(self._transport, timeout_s)
        while True:
            version = self.get(id)
            line = f"{version.model.name}, version {version.number}: {version.state}"
            if _is_accepted(version.state, version.error):
                polling.report(line)
                return version
            polling.pause(line)


class Datasets(DatasetsOperations):
    """The operations under /datasets, with waiting."""

    def wait(
        self,
        id: Ref,
        /,
        *,
        timeout_s: float | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.DatasetVersion:
        """The newest version, once it was fetched and inspected. organisation, project: of a name, in which it is.

        Raises Refused, TimeoutError.
        """
        newest = (self.get(id, organisation=organisation, project=project)).latest_version
        if newest is None:
            raise Refused({"detail": "The dataset has no version.", "remedy": "Upload one: datasets.create_version()."})
        return DatasetVersions(self._transport).wait(newest, timeout_s=timeout_s)


class Models(ModelsOperations):
    """The operations under /models, with waiting."""

    def wait(
        self,
        id: Ref,
        /,
        *,
        timeout_s: float | None = None,
        organisation: str | None = None,
        project: str | None = None,
    ) -> r.ModelVersionDetail:
        """The newest version, once it was inspected. organisation, project: of a name, in which it is.

        Raises Refused, TimeoutError.
        """
        newest = (self.get(id, organisation=organisation, project=project)).latest_version
        if newest is None:
            raise Refused({"detail": "The model has no version.", "remedy": "Upload one: models.create_version()."})
        return ModelVersions(self._transport).wait(newest, timeout_s=timeout_s)


def _is_of(line: r.LogLine, role: str | None, index: int | None, attempt: int | None) -> bool:
    pod = (line.role, line.index, line.attempt_number)
    return all(wanted in (None, found) for wanted, found in zip((role, index, attempt), pod, strict=True))


def _is_accepted(state: str, error: Any) -> bool:
    """False while it is fetched or inspected. Raises Refused."""
    if state in ("refused", "needs_columns"):
        raise Refused(error.as_dict() if error is not None else {"detail": f"The version is {state}."})
    return state == "ready"
