# SPDX-License-Identifier: Apache-2.0
"""Logs: one JSON object a line with the event first, ids bound once, and no secrets."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from celery import Celery, shared_task

from mlhub.core.structured_logs.logs import HIDDEN, logging_settings

ROOT = Path(__file__).parents[2]
BOUND_IN_WORKER: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()


class Lines(io.StringIO):
    """What was logged so far."""

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.entries() if entry["event"] == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The platform's logging as JSON from DEBUG on; pytest's own handlers come back afterwards."""
    root, written = logging.getLogger(), Lines()
    handlers, level = list(root.handlers), root.level
    logging_dict = logging_settings(form="json", level="DEBUG")
    logging_dict["handlers"]["stderr"]["stream"] = written
    logging.config.dictConfig(logging_dict)
    yield written
    structlog.contextvars.clear_contextvars()
    root.handlers = handlers
    root.setLevel(level)


def test_an_entry_is_one_line_with_the_event_first(lines: Lines) -> None:
    structlog.stdlib.get_logger("mlhub.control").warning("launch.failed", attempt="a-1", error=ValueError("two\nlines"))
    (line,) = lines.getvalue().splitlines()
    entry = json.loads(line)
    assert list(entry)[:4] == ["event", "timestamp", "level", "logger"]
    assert (entry["event"], entry["level"], entry["logger"]) == ("launch.failed", "warning", "mlhub.control")
    assert (entry["attempt"], entry["error"]) == ("a-1", "two\nlines")


def test_loggers_of_the_standard_library_write_the_same_form_with_the_bound_ids(lines: Lines) -> None:
    with structlog.contextvars.bound_contextvars(round=7, job="j-1"):
        logging.getLogger("mlhub.backends").warning("kubernetes.watch_broken", extra={"path": "/api"})
    (entry,) = lines.of("kubernetes.watch_broken")
    assert (entry["round"], entry["job"], entry["path"], entry["level"]) == (7, "j-1", "/api", "warning")


def test_a_traceback_stays_on_the_line_of_its_entry(lines: Lines) -> None:
    try:
        raise RuntimeError("lost mlh_0123456789abcdef")
    except RuntimeError:
        structlog.stdlib.get_logger("mlhub").exception("storage.bytes_lost")
    (entry,) = lines.of("storage.bytes_lost")
    assert "Traceback" in entry["exception"]
    assert "mlh_0123" not in entry["exception"]


@pytest.mark.parametrize(
    ("facts", "secret"),
    [
        ({"password": "hunter2"}, "hunter2"),
        ({"api_token": "abc123"}, "abc123"),
        ({"error": "Authorization: Bearer abc.def-123 was refused"}, "abc.def-123"),
        ({"error": "no answer from postgresql://mlhub:s3cr3t@db:5432/mlhub"}, "s3cr3t"),
        ({"given": "mlh_0123456789abcdef"}, "mlh_0123456789abcdef"),
        ({"environment": {"MLHUB_SECRET": "xyzzy"}}, "xyzzy"),
        ({"arguments": ("redis://:pa55@valkey:6379/0",)}, "pa55"),
    ],
)
def test_secrets_are_not_logged(lines: Lines, facts: dict[str, Any], secret: str):
    structlog.stdlib.get_logger("mlhub").info("it.happened", **facts)
    logging.getLogger("mlhub").info("it.happened", extra=facts)
    written = lines.getvalue()
    assert written.count("it.happened") == written.count(HIDDEN) == 2
    assert secret not in written


def test_ids_are_no_secrets(lines: Lines) -> None:
    structlog.stdlib.get_logger("mlhub").info("it.happened", token_id="t-1", n_tokens=5)
    (entry,) = lines.of("it.happened")
    assert (entry["token_id"], entry["n_tokens"]) == ("t-1", 5)


def test_servers_write_no_lines_of_their_own_about_requests(lines: Lines) -> None:
    logging.getLogger("uvicorn.access").info("GET /?token=hunter2")
    logging.getLogger("uvicorn.error").info("Started", extra={"color_message": "Started"})
    (entry,) = lines.entries()
    assert entry["event"] == "Started"
    assert "color_message" not in entry


def test_a_level_below_the_platform_s_is_not_written(lines: Lines) -> None:
    logging.getLogger().setLevel("WARNING")
    structlog.stdlib.get_logger("mlhub").info("it.happened")
    assert lines.entries() == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("MLHUB_LOG_FORMAT", "xml"), ("MLHUB_LOG_LEVEL", "LOUD")])
def test_an_unknown_form_or_level_is_refused_by_name(name: str, value: str) -> None:
    argv = [sys.executable, "-c", "import mlhub.settings"]
    done = subprocess.run(argv, cwd=ROOT, env={name: value}, capture_output=True, text=True, check=False)
    assert f"ImproperlyConfigured: {name} is '{value}'; known:" in done.stderr


@pytest.mark.slow
def test_a_person_at_a_terminal_reads_lines_and_a_file_gets_json() -> None:
    code = "import logging.config as c, mlhub.settings as s, structlog; c.dictConfig(s.LOGGING);"
    argv = [sys.executable, "-c", code + "structlog.get_logger('x').info('it.happened', job=3)"]
    for form, is_json in (("console", False), ("json", True), ("auto", True)):
        environment = {"MLHUB_LOG_FORMAT": form}
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert ("it.happened" in done.stderr, done.stderr.startswith('{"event": "it.happened"')) == (True, is_json)


# -- requests


def test_an_answer_carries_the_id_of_its_request(cast: Any) -> None:
    client = cast.client(cast.alice)
    given = client.get("/api/v1/projects", headers={"X-Request-ID": "proxy-17"})
    made, other = client.get("/healthz"), client.get("/healthz")
    assert given["X-Request-ID"] == "proxy-17"
    assert made["X-Request-ID"] != other["X-Request-ID"]


def test_an_id_that_could_forge_lines_is_replaced(cast: Any) -> None:
    answer = cast.client(None).get("/healthz", headers={"X-Request-ID": 'x", "level": "info'})
    assert '"' not in answer["X-Request-ID"]


def test_a_problem_names_its_request(cast: Any) -> None:
    answer = cast.client(cast.alice).get("/api/v1/projects?cursor=nonsense", headers={"X-Request-ID": "proxy-18"})
    assert (answer.status_code, answer.json()["request_id"]) == (400, "proxy-18")
    assert int(answer.headers.get("Content-Length", len(answer.content))) == len(answer.content)


def test_a_write_is_reported_with_the_ids_of_who_and_what(lines: Lines, cast: Any) -> None:
    job = "018f0000-0000-7000-8000-0000000000aa"
    cast.client(cast.alice).post(f"/api/v1/jobs/{job}/cancel", headers={"X-Request-ID": "r-1"})
    (entry,) = lines.of("request.answered")
    assert (entry["request_id"], entry["user"], entry["job"]) == ("r-1", str(cast.alice.pk), job)
    assert (entry["method"], entry["status"], entry["level"]) == ("POST", 404, "info")


def test_what_stands_in_a_query_is_not_logged(lines: Lines, cast: Any) -> None:
    answer = cast.client(cast.alice).post("/api/v1/projects?token=hunter2", {"name": "x"}, format="json")
    (entry,) = lines.of("request.answered")
    assert (answer.status_code, entry["status"]) == (400, 400)
    assert "hunter2" not in json.dumps(entry)


def test_reads_and_probes_are_reported_only_when_debugging(lines: Lines, cast: Any) -> None:
    cast.client(cast.alice).get("/api/v1/projects")
    cast.client(None).get("/healthz")
    assert {entry["level"] for entry in lines.of("request.answered")} == {"debug"}


def test_nothing_of_a_request_is_bound_after_it(cast: Any) -> None:
    cast.client(cast.alice).get("/api/v1/projects")
    assert structlog.contextvars.get_contextvars() == {}


async def _answer_over_asgi(path: str) -> dict[bytes, bytes]:
    from django.test import AsyncClient

    answer = await AsyncClient().get(path, headers={"X-Request-ID": "r-9"})
    return {name.encode(): value.encode() for name, value in answer.headers.items()}


def test_requests_over_asgi_have_ids_too() -> None:
    import asyncio

    assert asyncio.run(_answer_over_asgi("/healthz"))[b"X-Request-ID"] == b"r-9"


# -- tasks


def _note_bound(job_id: str) -> dict[str, Any]:
    bound = dict(structlog.contextvars.get_contextvars())
    BOUND_IN_WORKER.put(bound)
    return bound


note_bound = shared_task(_note_bound, name="tests.note_bound")


def test_a_task_binds_the_ids_of_its_arguments_and_unbinds_them(lines: Lines) -> None:
    bound = note_bound.apply(args=["j-1"]).get()
    assert BOUND_IN_WORKER.get_nowait() == bound
    assert (bound["job"], bound["task"]) == ("j-1", "tests.note_bound")
    (entry,) = lines.of("task.ended")
    assert (entry["job"], entry["state"], entry["level"]) == ("j-1", "SUCCESS", "info")
    assert structlog.contextvars.get_contextvars() == {}


def test_a_task_carries_the_id_of_the_request_that_sent_it(servers: Any) -> None:
    from celery.contrib.testing.worker import start_worker

    app = Celery("logs-test", broker=servers.redis_url, set_as_current=False)
    app.task(_note_bound, name="tests.note_bound_in_a_worker", ignore_result=True)
    with structlog.contextvars.bound_contextvars(request_id="r-5"):
        app.send_task("tests.note_bound_in_a_worker", args=["j-1"], queue="logs-test")
    with start_worker(app, queues=["logs-test"], pool="solo", perform_ping_check=False, loglevel="ERROR"):
        bound = BOUND_IN_WORKER.get(timeout=600)
    assert (bound["request_id"], bound["job"]) == ("r-5", "j-1")


@pytest.mark.slow
def test_celery_s_workers_log_in_the_platform_s_form(servers: Any) -> None:
    code = (
        "import os; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'mlhub.settings'); import django; django.setup();"
        "from mlhub.celery import app; app.log.setup();"
        "import logging; logging.getLogger('celery').error('it.happened')"
    )
    argv = [sys.executable, "-c", code]
    environment = {"MLHUB_LOG_FORMAT": "json", "REDIS_URL": servers.redis_url}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert '{"event": "it.happened"' in done.stderr
