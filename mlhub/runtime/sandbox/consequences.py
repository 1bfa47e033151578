# SPDX-License-Identifier: Apache-2.0
"""What a machine without a protection of the sandbox allows uploaded code to do, by the protection's name."""

from __future__ import annotations

from collections.abc import Mapping

CONSEQUENCES: Mapping[str, str] = {
    "namespaces": "Uploaded code sees the machine's host name, and its mounts and processes unless another protection "
    "hides them.",
    "user": "All uploads run with one user id, so that only the other protections keep them apart.",
    "landlock": "Files are hidden by namespaces alone.",
    "seccomp": "Uploaded code may make every system call, and reach what only a filter keeps it from.",
    "files": "Uploaded code may read files of the platform and of other organisations.",
    "processes": "Uploaded code may signal and inspect processes of the platform and of other organisations.",
    "cgroup_memory": "Memory is limited for each process, and not for all processes of an upload together.",
    "cgroup_pids": "Processes are limited for each user id, and not for each upload.",
    "cgroup_cpu": "An upload may use all processors of the machine while it is validated.",
}
