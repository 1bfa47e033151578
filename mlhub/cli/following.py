# SPDX-License-Identifier: Apache-2.0
"""A job as it goes on: its log lines and its state, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlhub.cli.failures import CommandStatus
from mlhub.cli.session import Session
from mlhub.client.stream import frames

ABOVE_ALL = 2**53 - 1  # no line has such a seq
ENDED = ("succeeded", "failed", "cancelled")
LineOfLog = dict[str, Any]


def show_log(session: Session, job_id: str, *, query: dict[str, Any], tail: int, follow: bool) -> CommandStatus:
    """Prints the lines that there are, then, with follow, those that come. query: role and index of pods.

    tail: only the last lines of those that there are, all when 0. Returns the code of the job's end, OK without follow.
    """
    last_seq, cursor = 0, ""
    for page in [_last_lines(session, job_id, query, tail)] if tail else _pages(session, job_id, query, after=0):
        cursor = page["cursor"]
        for line in page["lines"]:
            last_seq = line["seq"]
            _print(session, line)
    if not follow:
        return CommandStatus.OK
    last_seq = _follow(session, job_id, cursor, query, last_seq)
    for page in _pages(session, job_id, query, after=last_seq):  # what came with the end
        for line in page["lines"]:
            _print(session, line)
    return _end(session, job_id)


def wait(session: Session, job_id: str) -> CommandStatus:
    """Says each new state, until the job ends."""
    said = ""
    for kind, data in _frames(session, job_id, ""):
        if kind == "job" and data["state"] != said:
            said = data["state"]
            session.output.note(f"{data['name']}: {said}")
    return _end(session, job_id)


def _follow(session: Session, job_id: str, cursor: str, query: dict[str, Any], last_seq: int) -> int:
    """Prints lines and states as they come. Returns the seq of the last line."""
    said = ""
    for kind, data in _frames(session, job_id, cursor):
        if kind == "log":
            for line in data["lines"]:  # those since a broken connection may come twice
                if line["seq"] > last_seq and all(line[name] == value for name, value in query.items()):
                    _print(session, line)
                last_seq = max(last_seq, line["seq"])
        elif kind == "job" and data["state"] != said:
            said = data["state"]
            session.output.note(f"{data['name']}: {said}" + (f" ({data['reason']})" if data["reason"] else ""))
    return last_seq


def _frames(session: Session, job_id: str, cursor: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The frames of a job's stream up to the one that shows that it has ended."""
    if session.api.get(f"/jobs/{job_id}")["state"] in ENDED:
        return
    for kind, data in frames(session.api, job_id, cursor):
        yield kind, data
        if kind == "end" or (kind == "job" and data["state"] in ENDED):
            return


def _end(session: Session, job_id: str) -> CommandStatus:
    job = session.api.get(f"/jobs/{job_id}")
    if job["state"] == "succeeded":
        found = ", ".join(f"{key} {value:.4g}" for key, value in (job["result_metrics"] or {}).items())
        session.output.note(f"{job['name']} succeeded" + (f": {found}" if found else "."))
        return CommandStatus.OK
    failure = job["failure"] or {}
    text = " ".join(filter(None, (failure.get("message"), failure.get("remedy")))) or job["reason"]
    session.output.note(f"{job['name']} {job['state']}: {text}")
    return CommandStatus.JOB_FAILED


def _pages(session: Session, job_id: str, query: dict[str, Any], *, after: int) -> Iterator[dict[str, Any]]:
    while True:
        page = session.api.get(f"/jobs/{job_id}/logs", after=after, limit=10_000, **query)
        yield page
        if not page["lines"]:
            return
        after = page["lines"][-1]["seq"]


def _last_lines(session: Session, job_id: str, query: dict[str, Any], n: int) -> dict[str, Any]:
    """The last n lines, read backwards, with the cursor of before they were read."""
    page = session.api.get(f"/jobs/{job_id}/logs", before=ABOVE_ALL, limit=min(n, 10_000), **query)
    lines, cursor, is_end = page["lines"], page["cursor"], page["is_end"]
    while len(lines) < n and not is_end:
        limit = min(n - len(lines), 10_000)
        page = session.api.get(f"/jobs/{job_id}/logs", before=lines[0]["seq"], limit=limit, **query)
        lines, is_end = page["lines"] + lines, page["is_end"]
    return {"lines": lines, "cursor": cursor}


def _print(session: Session, line: LineOfLog) -> None:
    if session.output.form == "json":
        session.output.data(line)
    else:
        session.output.line(f"{line['role']}-{line['index']}  {line['text']}")
