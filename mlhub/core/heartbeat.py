# SPDX-License-Identifier: Apache-2.0
"""A file that a process touches at each turn of its main loop, for probes of processes that serve no HTTP.

    python -m mlhub.core.heartbeat --max-age-s 120     exit status 1 and a sentence when the file is older, or not there

MLHUB_HEARTBEAT_FILE names the file; without it nothing is written. The worker touches it every two seconds, beat with
each task that is due, and the control loop with each round and each try to become the deciding one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

SETTING = "MLHUB_HEARTBEAT_FILE"


def record() -> None:
    """Touches the file. A disk that refuses costs the probe, and not the process's turn."""
    path = os.environ.get(SETTING)
    if path:
        try:
            Path(path).touch()
        except OSError as error:
            print(f"{SETTING}: {error}", file=sys.stderr)


def problem(path: str, *, max_age_s: float) -> str:
    """Why the process counts as hung; "" when its last turn was at most max_age_s seconds ago."""
    if not path:
        return f"{SETTING} is not set; name the file that the process touches."
    try:
        age_s = time.time() - Path(path).stat().st_mtime
    except OSError as error:
        return f"There is no heartbeat yet: {error}"
    return f"The last heartbeat was {age_s:.0f} s ago; {max_age_s:.0f} s are allowed." if age_s > max_age_s else ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.core.heartbeat", description=__doc__)
    parser.add_argument("--max-age-s", type=float, required=True, help="seconds since the last turn that are allowed")
    found = problem(os.environ.get(SETTING, ""), max_age_s=parser.parse_args(arguments).max_age_s)
    if found:
        print(found, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
