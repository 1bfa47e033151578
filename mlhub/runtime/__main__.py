# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime: the main process of every pod. Reads its environment (mlhub/wire/environment.py)."""

import signal
import sys

from mlhub.runtime.launcher.judgement import STOP_SIGNALS
from mlhub.runtime.launcher.main import main

code = main()
# late ones change nothing: an interpreter that ends has no handlers, and a pod that did its work would die of them
signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
sys.exit(code)
