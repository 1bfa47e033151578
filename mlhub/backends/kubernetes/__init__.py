# SPDX-License-Identifier: Apache-2.0
"""Pods on a Kubernetes cluster. Gangs are created gated and released together; the cluster itself is the only memory.

options.py: what an administrator chooses. names.py: labels, names, addresses. manifests.py and tenancy.py: objects as
data (pure), in_place.py: large inputs that they read where they lie. access.py: the rights that MLHub needs.
connection.py, api.py, errors.py and mirror.py: the thin client, refusals, lists and watches. ownership.py and
catalogue.py: which objects are ours (pure); quarantine.py: what is left out. problems.py, pod_events.py, gangs.py,
gpus.py and nodes.py: from what the API shows to the protocol's words. projects.py and drift.py: namespaces and what
they hold, corrected. launching.py, batches.py, observation.py and removal.py: a gang made, many at once, looked at,
removed. claims.py and claiming.py: GPUs that jobs hold and share. sweeping.py: old checkpoints. backend.py: the
protocol's verbs.
check/: `make kube-check`, a conformance run against any cluster.
"""
