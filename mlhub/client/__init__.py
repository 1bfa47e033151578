# SPDX-License-Identifier: Apache-2.0
"""For Python programs that train and ask models on an MLHub: the whole API, typed; fit a table, get a model.

Neither Django nor torch. What is named here is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlhub.client.asynchronous.client import AsyncClient
    from mlhub.client.estimator import Estimator
    from mlhub.client.model import TrainedModel
    from mlhub.client.problems import (
        Absent,
        BadRequest,
        ClientError,
        Conflicting,
        NotAllowed,
        NotSignedIn,
        OverLimit,
        PlatformFailed,
        Refused,
        Unfinished,
        Unreachable,
    )
    from mlhub.client.requests import StreamEvent, by_name
    from mlhub.client.synchronous.client import Client
    from mlhub.client.tables import ProgressLine

PROBLEMS = (
    "Absent", "BadRequest", "ClientError", "Conflicting", "NotAllowed", "NotSignedIn", "OverLimit", "PlatformFailed",
    "Refused", "Unfinished", "Unreachable",
)  # fmt: skip
MODULES = {
    "AsyncClient": "asynchronous.client",
    "Client": "synchronous.client",
    "Estimator": "estimator",
    "ProgressLine": "tables",
    "StreamEvent": "requests",
    "TrainedModel": "model",
    "by_name": "requests",
    **dict.fromkeys(PROBLEMS, "problems"),
}

__all__ = [
    "Absent",
    "AsyncClient",
    "BadRequest",
    "Client",
    "ClientError",
    "Conflicting",
    "Estimator",
    "NotAllowed",
    "NotSignedIn",
    "OverLimit",
    "PlatformFailed",
    "ProgressLine",
    "Refused",
    "StreamEvent",
    "TrainedModel",
    "Unfinished",
    "Unreachable",
    "by_name",
]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
