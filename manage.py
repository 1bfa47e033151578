#!/usr/bin/env python
# SPDX-License-Identifier: Apache-2.0
"""Django's command line for MLHub."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
