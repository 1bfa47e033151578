# SPDX-License-Identifier: Apache-2.0
"""A build hook of hatchling: puts the files that are not Python into the wheel, at mlhub/_files.

The default cluster file always goes in; the dashboard does when it has been built (`make frontend`), since building it
needs Node and the Python client, scheduler and runtime do not need the dashboard.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "mlhub/_files"


class WheelFiles(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the files to what the wheel includes; editable installs read them from the checkout."""
        if version == "editable":
            return
        root = Path(self.root)
        build_data["force_include"][str(root / "deploy" / "local" / "cluster.yaml")] = f"{FOLDER}/cluster.yaml"
        dashboard = root / "frontend" / "dist"
        if (dashboard / "index.html").is_file():
            build_data["force_include"][str(dashboard)] = f"{FOLDER}/dashboard"
        else:
            self.app.display_warning("The wheel has no dashboard: it was not built before (make frontend).")
