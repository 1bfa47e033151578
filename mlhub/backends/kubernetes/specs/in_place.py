# SPDX-License-Identifier: Apache-2.0
"""Large inputs that pods read where they lie: single files of the blob store's own volume, mounted read-only. Pure.

Each file is mounted by itself, by the path that its hash gives it, so that a pod sees its job's inputs and no others.
Volumes of the node's own disk (hostPath) are not offered: Pod Security `restricted` forbids them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.wire.launch import Input, LaunchSpec

STORE = "/mlhub/store"
VOLUME = "store"


def is_in_place(item: Input, options: KubernetesOptions) -> bool:
    """Whether it is on the store's volume, which pods can mount, and is large enough to be worth it."""
    has_volume = bool(options.store_claim or options.store_csi)
    return has_volume and item.uri.startswith("file:") and item.size_bytes >= options.in_place_from_bytes


def path_of(item: Input) -> str:
    """Where a pod finds it."""
    return f"{STORE}/{item.sha256}"


def mounts(spec: LaunchSpec, options: KubernetesOptions) -> list[dict[str, Any]]:
    found = {item.sha256: item for item in spec.inputs if is_in_place(item, options)}
    return [
        {
            "name": VOLUME,
            "mountPath": path_of(item),
            "subPath": f"{sha256[:2]}/{sha256[2:4]}/{sha256}",  # as mlhub/storage/stores.py lays blobs out
            "readOnly": True,
        }
        for sha256, item in sorted(found.items())
    ]


def volumes(spec: LaunchSpec, options: KubernetesOptions) -> list[dict[str, Any]]:
    """The store's volume: a claim of the project's namespace, or one that a CSI driver mounts for the pod."""
    if not mounts(spec, options):
        return []
    if options.store_claim:
        claim = {"claimName": options.store_claim, "readOnly": True}
        return [{"name": VOLUME, "persistentVolumeClaim": claim}]
    driver, attributes = parse_csi(options.store_csi)
    return [{"name": VOLUME, "csi": {"driver": driver, "readOnly": True, "volumeAttributes": attributes}}]


def parse_csi(text: str) -> tuple[str, dict[str, str]]:
    """nfs.csi.k8s.io?server=files.example.org&share=/blobs: driver and attributes. Raises ValueError."""
    driver, _, query = text.partition("?")
    attributes = dict(parse_qsl(query, strict_parsing=bool(query)))
    if "." not in driver or " " in driver:
        raise ValueError(f"MLHUB_KUBE_STORE_CSI is {text!r}; write it like nfs.csi.k8s.io?server=HOST&share=/blobs.")
    return driver, attributes
