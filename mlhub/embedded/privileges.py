# SPDX-License-Identifier: Apache-2.0
"""Starting servers that refuse to run as root, and that must not outlive the process that started them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

UNPRIVILEGED = "nobody"


def prefix(*, death_signal: str, drop: bool) -> list[str]:
    """The command (setpriv, of util-linux) to put before a server's own.

    death_signal: what the kernel sends it when the thread that started it ends. drop: as root, become the user
    nobody with the one capability that reads folders of root's (never writes them); the securebit keeps it over the
    change of user.
    """
    command = ["setpriv", f"--pdeathsig={death_signal}"]
    if drop and os.geteuid() == 0:
        user = pwd.getpwnam(UNPRIVILEGED)
        command += [
            f"--reuid={user.pw_uid}",
            f"--regid={user.pw_gid}",
            "--clear-groups",
            "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=-all,+dac_read_search",
            "--securebits=+no_setuid_fixup",
            "--no-new-privs",
        ]
    return command


def give_to_server(folder: Path) -> None:
    """As root, hands a folder to the user that `prefix(drop=True)` becomes."""
    if os.geteuid() == 0:
        user = pwd.getpwnam(UNPRIVILEGED)
        os.chown(folder, user.pw_uid, user.pw_gid)
