# SPDX-License-Identifier: Apache-2.0
"""Structured logs of the server's processes: one JSON object a line, or readable lines in a terminal.

An entry has its event's name first, then when, how severe and from where, then the ids that the process has bound
(request_id, user, organisation, job, attempt, round) and the facts of the call. Loggers of the standard library (of
Django, Celery and uvicorn) pass through the same formatter; their `extra` become facts.
No Django here: settings import this module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

FORMATS = ("auto", "json", "console")
FIRST = ("event", "timestamp", "level", "logger")
HIDDEN = "[hidden]"
SECRET_NAME = re.compile(r"(^|_)(password|secret|token|authorization|cookie|api_key|credentials)$", re.IGNORECASE)
# an API token; the credentials of a URL; a bearer token
SECRET_VALUE = re.compile(r"\bmlh_[\w-]{8,}|(?<=://)[^/@\s:]*:[^/@\s]+(?=@)|(?<=[Bb]earer )[\w.~+/-]+=*")


def logging_settings(*, form: str, level: str) -> dict[str, Any]:
    """Configures structlog, and returns Django's LOGGING. form: json, console, or auto: console in a terminal.

    Raises ValueError when there is no such form or level.
    """
    if form not in FORMATS:
        raise ValueError(f"MLHUB_LOG_FORMAT is {form!r}; known: {', '.join(FORMATS)}.")
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
        raise ValueError(f"MLHUB_LOG_LEVEL is {level!r}; known: DEBUG, INFO, WARNING, ERROR, CRITICAL.")
    is_console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared = _shared_processors()
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    formatter = {
        "()": "structlog.stdlib.ProcessorFormatter",
        "foreign_pre_chain": [*shared[:-1], structlog.stdlib.ExtraAdder(), shared[-1]],
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(is_console)],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "axes": {"level": "WARNING"},
            "celery": {"level": "WARNING"},  # mlhub/core/structured_logs/task_logs.py reports tasks
            "django.request": {"level": "ERROR"},  # mlhub/core/structured_logs/request_logs.py reports refused requests
            "fido2": {"level": "WARNING"},  # the audit has who signs in
            "httpx": {"level": "WARNING"},  # whole addresses, which may hold signatures
            # they bring handlers of their own, which would write lines of another form
            "uvicorn": {"handlers": [], "propagate": True},
            "uvicorn.error": {"handlers": [], "propagate": True},
            "uvicorn.access": {"handlers": [], "propagate": False},  # with query strings; request_logs.py reports
        },
    }


def current_request_id() -> str:
    """The id of the request that is being answered or that a task was sent by; "" outside of any."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def hide_secrets(_: WrappedLogger, __: str, entry: EventDict) -> EventDict:
    """Replaces what is named like a secret, and what looks like one within texts; ids and errors become texts."""
    entry.pop("color_message", None)  # uvicorn's event once more, for terminals
    return {name: HIDDEN if SECRET_NAME.search(name) else _plain(value) for name, value in entry.items()}


def event_first(_: WrappedLogger, __: str, entry: EventDict) -> EventDict:
    """The same entry with its event, time, level and logger at the front."""
    return {name: entry[name] for name in FIRST if name in entry} | {
        name: value for name, value in entry.items() if name not in FIRST
    }


def _plain(value: Any) -> Any:
    if isinstance(value, UUID | BaseException):
        value = str(value)
    if isinstance(value, str):
        return SECRET_VALUE.sub(HIDDEN, value)
    if isinstance(value, Mapping):
        return {k: HIDDEN if SECRET_NAME.search(str(k)) else _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _shared_processors() -> list[Processor]:
    """What entries of structlog and of the standard library both pass; the last hides secrets."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        hide_secrets,
    ]


def _rendering(is_console: bool) -> list[Processor]:
    if is_console:
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    return [
        structlog.processors.format_exc_info,
        hide_secrets,  # once more: a traceback is a text only now
        event_first,
        structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
    ]
