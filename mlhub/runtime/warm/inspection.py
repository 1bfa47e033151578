# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime.warm.inspection REPORT_FD: a sandbox's first process that has imported what dry runs import.

It writes that it is ready to the report, and then does what sandbox/init.py does: reads a Confinement from standard
input, and runs the program in the sandbox. It ends with its parent.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time

from mlhub.runtime.sandbox import kernel
from mlhub.runtime.spare_sandbox import READY, SpareSandbox
from mlhub.runtime.warm import start

PAUSE_S = 4.0  # the job whose dry run was just made starts meanwhile, with the processors for itself


def spare() -> SpareSandbox:
    """Where these processes come from."""
    return SpareSandbox([sys.executable, "-m", "mlhub.runtime.warm.inspection"], start.variables())


def main() -> int:
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    report = int(sys.argv[1])
    time.sleep(PAUSE_S)
    start.prepare(["mlhub.runtime.inspection.dry_run"])
    if len(os.listdir("/proc/self/task")) != 1:
        return 1  # a fork would lose the other threads
    gc.collect()
    gc.freeze()
    os.write(report, READY)
    return start.run_reported(report)


if __name__ == "__main__":
    sys.exit(main())
