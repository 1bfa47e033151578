# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.cli: the same as the command mlhub."""

import sys

from mlhub.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
