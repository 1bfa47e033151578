# SPDX-License-Identifier: Apache-2.0
"""The agent of a machine: brings it into a cluster of MLHub without Kubernetes (docs/decisions/agents.md).

program.py: the loop. gangs.py: the machine's share of each gang, started by the local backend's pieces. machine.py:
what the machine offers. project_caches.py: what was deleted goes here, too. shared_folder.py: whether it has the folder
of checkpoints. platform_api.py: requests.
lease.py: until when pods may run. Without Django: `pip install '.[agent]'` is all that a machine needs.
"""
