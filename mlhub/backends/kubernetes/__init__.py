# SPDX-License-Identifier: Apache-2.0
"""Pods on a Kubernetes cluster. Gangs are created gated and released together; the cluster itself is the only memory.

options.py: what an administrator chooses. names.py: labels, names, addresses. ownership.py: which objects are ours.
quarantine.py: what is left out. backend.py: the protocol's verbs.
client/: the API: connection, refusals, lists and watches, the rights that MLHub needs. specs/: objects as data (pure).
status/: from what the API shows to the protocol's words. operations/: gangs and projects made, looked at, removed.
check/: `make kube-check`, a conformance run against any cluster.
"""
