# SPDX-License-Identifier: Apache-2.0
"""Pods as processes of this machine, on a virtual cluster read from a file. All state is on disk.

backend.py: the five verbs. shim.py: one small process a pod, which outlives its launcher. folders.py: the layout
on disk. gangs.py: from pods' states to a gang's. cluster.py: the cluster file. gpus.py: real GPUs, by their driver.
warm_pool.py, warm_worker.py: processes that have imported what pods import, and become pods.
"""

from mlhub.backends.local.backend import LocalBackend
from mlhub.backends.local.cluster import ClusterFileError, LocalCluster, read_cluster, workstation

__all__ = ["ClusterFileError", "LocalBackend", "LocalCluster", "read_cluster", "workstation"]
