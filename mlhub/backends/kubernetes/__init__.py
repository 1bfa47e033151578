# SPDX-License-Identifier: Apache-2.0
"""Pods on a Kubernetes cluster. Gangs are created gated and released together; the cluster itself is the only memory.

options.py: what an administrator chooses. names.py: labels, names, addresses. manifests.py and tenancy.py: objects as
data (pure), in_place.py: large inputs that they read where they lie. access.py: the rights that MLHub needs. api.py and
mirror.py: the thin client, lists and watches. problems.py, gangs.py, gpus.py and nodes.py: from what the API shows to
the protocol's words (pure). claims.py and claiming.py: GPUs that jobs hold and share. sweeping.py: old checkpoints.
backend.py: the five verbs. check/: `make kube-check`, a conformance run against any cluster.
"""
