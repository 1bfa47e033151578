"""Pods on a Kubernetes cluster. Gangs are created gated and released together; the cluster itself is the only memory.

options.py: what an administrator chooses. names.py: labels, names, addresses. manifests.py and tenancy.py: objects as
data (pure). access.py: the rights that MLHub needs. api.py and mirror.py: the thin client, lists and watches.
pods.py, problems.py, gangs.py and nodes.py: from what the API shows to the protocol's words (pure).
backend.py: the five verbs. check/: `make kube-check`, a conformance run against any cluster.
"""
