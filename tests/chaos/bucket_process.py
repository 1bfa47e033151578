# SPDX-License-Identifier: Apache-2.0
"""Requests to the platform in processes that may be killed, where its store is a bucket.

The bucket's client has threads, which do not survive a fork: so a process that has never used it answers each request
in a fork of its own. Run as a program, this is that process. Its messages are lines of JSON, on its input and output.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    """status: of the answer; 0 = the process was killed first. place: where it was, if it was at a commit."""

    status: int
    body: dict[str, Any]
    place: str


class Requests:
    """Makes requests in processes. begun: called with the id of each before it does anything."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def make(self, *, commit: int = 0, begun: Callable[[int], None] = lambda _: None, **asked: Any) -> Outcome:
        """asked: path, fields, file and token of a POST, or the name of a task. commit: at which boundary it is killed;
        0 = none; see commits.py."""
        self._send({"commit": commit, **asked})
        begun(int(self._receive()["pid"]))
        self._send({})
        found = self._receive()
        return Outcome(found["status"], found["body"], found["place"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that answers requests has ended"
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def requests_in_processes(environment: dict[str, str]) -> Iterator[Requests]:
    argv = [sys.executable, "-m", "tests.chaos.bucket_process"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        yield Requests(process)
    finally:
        process.communicate()  # its input ends


def main() -> None:
    import django

    django.setup()
    from django.test.utils import setup_test_environment

    import mlhub.storage.bucket_joins
    import mlhub.urls  # noqa: F401 (imported once, before the forks)

    setup_test_environment()
    for line in sys.stdin:
        asked = json.loads(line)
        may_go, go = os.pipe()
        answer, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go)
            os.close(answer)
            os.read(may_go, 1)
            _answer(asked, tell)
        os.close(tell)
        print(json.dumps({"pid": pid}), flush=True)
        sys.stdin.readline()
        os.write(go, b"1")
        with os.fdopen(answer) as pipe:
            answered = pipe.read()
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL, status
            found = {"status": 0, "body": {}, "place": answered}
        else:
            found = json.loads(answered)
        print(json.dumps(found), flush=True)
        os.close(go)
        os.close(may_go)


def _answer(asked: dict[str, Any], pipe: int) -> None:
    from django.db import connection

    from tests.chaos.commits import KillAt

    kill = KillAt(asked["commit"], pipe)
    kill.wrap_commits()
    # of a request, only when its token was used stands outside of transactions, and that not each time
    statements = connection.execute_wrapper(kill.around_statement) if "task" in asked else nullcontext()
    with statements:
        status, body = _done(asked)
    os.write(pipe, json.dumps({"status": status, "body": body, "place": ""}).encode())
    sys.stderr.flush()
    os._exit(0)


def _done(asked: dict[str, Any]) -> tuple[int, Any]:
    from celery import current_app
    from django.core.files.uploadedfile import SimpleUploadedFile
    from rest_framework.test import APIClient

    if "task" in asked:
        current_app.loader.import_default_modules()
        return 200, {"returned": current_app.tasks[asked["task"]].run()}
    client = APIClient(headers={"Authorization": f"Bearer {asked['token']}"}, raise_request_exception=False)
    fields = dict(asked["fields"])
    if "file" in asked:
        fields["file"] = SimpleUploadedFile(Path(asked["file"]).name, Path(asked["file"]).read_bytes())
    answer = client.post(asked["path"], fields, format="multipart")
    return answer.status_code, answer.json()


if __name__ == "__main__":
    main()
