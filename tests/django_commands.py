# SPDX-License-Identifier: Apache-2.0
"""python -m tests.django_commands: runs commands of Django that come as lines of JSON: {"arguments", "variables"}.

For each it answers with a line, JSON of what went wrong, or "". A new process would import Django for each of them.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TextIO

import django


def serve(asked: TextIO, answers: TextIO) -> None:
    from django.core.management import call_command
    from django.db import connections

    for line in asked:
        wanted, problem = json.loads(line), ""
        os.environ.update(wanted["variables"])
        try:
            call_command(*wanted["arguments"])
        except BaseException:
            problem = traceback.format_exc()
        connections.close_all()  # the servers may be others the next time
        answers.write(json.dumps(problem) + "\n")
        answers.flush()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "mlhub.settings"
    to_asker = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what commands print is no answer
    django.setup()
    serve(sys.stdin, to_asker)
