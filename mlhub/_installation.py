# SPDX-License-Identifier: Apache-2.0
"""Where the files lie that are not Python: in a checkout of the source, or inside the installed package.

The build (deploy/local/wheel_files.py) copies the dashboard and the default cluster file into the package, so that an
installed MLHub needs no checkout. Standard library only: the supervisor reads it without Django.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent  # the checkout, or site-packages: the folder that Python finds `mlhub` and `scheduler` in
INSTALLED_FILES = PACKAGE / "_files"


def is_installed() -> bool:
    """Whether this code is an installed package; a checkout and the images run from the source tree."""
    return INSTALLED_FILES.is_dir()


def default_home() -> Path:
    """The folder of all state when MLHUB_HOME is not set: .mlhub in the checkout, or in the working directory."""
    return (Path.cwd() if is_installed() else ROOT) / ".mlhub"


def dashboard_build() -> Path:
    """The folder with the dashboard's index.html; it is absent when the dashboard has not been built."""
    return INSTALLED_FILES / "dashboard" if is_installed() else ROOT / "frontend" / "dist"


def default_cluster_file() -> Path:
    """The virtual cluster of the local backend when MLHUB_CLUSTER_FILE is not set."""
    return INSTALLED_FILES / "cluster.yaml" if is_installed() else ROOT / "deploy" / "local" / "cluster.yaml"


def default_warm_workers() -> int:
    """One process that waits to become a pod for each 6 GiB of memory, at most two; each takes 230 MiB."""
    total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(2, total_bytes // (6 * 2**30))
