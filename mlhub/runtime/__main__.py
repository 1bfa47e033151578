# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime: the main process of every pod. Reads its environment (mlhub/wire/environment.py)."""

import sys

from mlhub.runtime.launcher.main import main

sys.exit(main())
