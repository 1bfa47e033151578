# SPDX-License-Identifier: Apache-2.0
"""The one-time code with which the first administrator of a fresh platform signs up in the browser."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request

from mlhub.embedded.home import PROJECT

SETUP_PATH = "/api/v1/auth/setup"


def read_setup_code(url: str, environment: dict[str, str]) -> str:
    """The code of the platform that answers at url; "" when it has an administrator already.

    Only a platform without one costs a Django process, which derives the code from key and database.
    """
    try:
        with urllib.request.urlopen(url + SETUP_PATH, timeout=30) as answer:  # noqa: S310 - our own address
            if not json.load(answer)["is_needed"]:
                return ""
    except (OSError, ValueError):
        return ""  # the platform is up, but does not answer this: signing up would not work either
    argv = [sys.executable, "-m", "django", "setup_code"]
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
