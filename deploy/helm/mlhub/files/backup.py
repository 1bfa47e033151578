# SPDX-License-Identifier: Apache-2.0
"""Writes a backup into a folder, verifies it if asked to, and removes the oldest beyond a number; a CronJob runs this.

python backup.py FOLDER KEEP [verify]
"""

import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    folder, keep, verifies = Path(sys.argv[1]), int(sys.argv[2]), "verify" in sys.argv[3:]
    file = folder / time.strftime("mlhub-%Y%m%dT%H%M%SZ.backup", time.gmtime())
    manage = [sys.executable, "manage.py", "backup", str(file)]
    subprocess.run(manage, check=True)
    if verifies:
        subprocess.run([*manage, "--verify"], check=True)
    for old in sorted(folder.glob("mlhub-*.backup"))[:-keep]:
        old.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
