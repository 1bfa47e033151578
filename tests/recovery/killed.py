# SPDX-License-Identifier: Apache-2.0
"""python -m tests.recovery.killed MODULE.FUNCTION COMMAND ...: a Django command that is killed when it calls that.

The n-th call with MODULE.FUNCTION@n. A process of its own, so that nothing can be tidied up; what a restore would start
as a process with Django is a fork of this one.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

import django
from django.core.management import call_command


def kill_at(place: str) -> None:
    path, _, number = place.partition("@")
    module_name, _, name = path.rpartition(".")
    module = importlib.import_module(module_name)
    original, n_calls = getattr(module, name), 0

    def replaced(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)

    setattr(module, name, replaced)


if __name__ == "__main__":
    django.setup()
    from mlhub.recovery import restores
    from tests.recovery.forked import run_django

    restores._django = run_django
    kill_at(sys.argv[1])
    call_command(*sys.argv[2:])
