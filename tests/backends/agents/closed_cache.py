# SPDX-License-Identifier: Apache-2.0
"""python -m tests.backends.agents.closed_cache: a pod has closed folders of its cache; not for root, who may all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.backends.agents.test_project_caches import GONE, HOSTILE, OTHER, Platform, entry, tend_until_removed


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        entry(folder, HOSTILE, "deep").chmod(0)
        (folder / HOSTILE).chmod(0)
        kept, gone = entry(folder, OTHER, "a" * 64), entry(folder, OTHER, GONE)
        tend_until_removed(folder, Platform(inputs={OTHER: [GONE]}))
        assert (kept.exists(), gone.exists()) == (True, False), "the cache of another project waits"
        (folder / HOSTILE / "deep").chmod(0)
        (folder / HOSTILE).chmod(0)
        tend_until_removed(folder, Platform(HOSTILE))
        assert [path.name for path in folder.iterdir()] == [OTHER]


if __name__ == "__main__":
    main()
