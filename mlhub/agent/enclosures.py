# SPDX-License-Identifier: Apache-2.0
"""What a pod that is a process of a machine gets: its inputs, its checkpoints, its project's cache, a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from mlhub.runtime.sandbox import pods
from mlhub.wire import environment as names
from mlhub.wire.launch import NOTEBOOK, LaunchSpec


def enclose(
    spec: LaunchSpec,
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    has_node_network: bool,
    devices: Sequence[str] = (),
    is_network_open: bool = False,
    authorities: Path | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that start a pod in the sandbox. folder: the pod's own.

    has_node_network: its node has a network of its own, where it meets the gang's other pods. is_network_open: it may
    use the host's network. devices: files of its GPUs. authorities: a file with those whose certificates it trusts;
    None: the usual ones. Raises OSError.
    """
    tenant = spec.labels.get("project_id") or spec.job_id
    cache = Path(environment[names.CACHE_DIR]) / tenant  # what one project prepared, no other one trusts
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(environment[names.WORK_DIR])
    variables = dict(environment) | {names.CACHE_DIR: str(cache)}
    files = [
        Path(environment[name])
        for name in (names.SPEC_PATH, names.TOKEN_PATH, names.SECRET_PATH, names.USER_SECRETS_PATH)
    ]
    files += [path for path in (_local(item.uri) for item in spec.inputs) if path is not None and path.exists()]
    if authorities is not None:
        files.append(authorities)
        variables["SSL_CERT_FILE"] = str(authorities)
    checkpoints = _local(spec.checkpoint_uri)
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    writable = [work, cache, *([checkpoints] if checkpoints is not None else [])]
    command = pods.enclose(
        argv,
        variables,
        folder=folder,
        work=work,
        readable=files,
        writable=writable,
        tenant=tenant,
        devices=devices,
        has_terminals=spec.model.kind == NOTEBOOK,
        ingest=None if has_node_network or is_network_open else _only_way_out(spec),
    )
    return command, variables


def _only_way_out(spec: LaunchSpec) -> pods.Ingest | None:
    """The ingest API of the pod's own attempt; None where pods need more of the network than that."""
    api = urlparse(spec.api_url)
    sources = (urlparse(item.uri) for item in spec.inputs)
    if any(s.scheme != "file" and s.netloc != api.netloc for s in sources):
        return None
    if api.hostname is None or ":" in api.hostname:  # an IPv6 address: relays listen on IPv4
        return None
    if api.scheme == "https":  # only the web server can read what is asked for
        return pods.Ingest(api.hostname, api.port or 443, "")
    return pods.Ingest(api.hostname, api.port or 80, f"{api.path}/api/v1/ingest/attempts/{spec.attempt_id}/")


def _local(uri: str) -> Path | None:
    address = urlparse(uri)
    return Path(unquote(address.path)) if address.scheme == "file" else None
