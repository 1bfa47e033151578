# SPDX-License-Identifier: Apache-2.0
"""LaunchSpec: all that a backend needs to start a gang; PodSpec: what one pod receives. Immutable, JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, NewType

AttemptId = NewType("AttemptId", str)

WIRE_VERSION = 1


class PodRole(StrEnum):
    WORKER = "worker"
    SERVER = "server"


class SyncMode(StrEnum):
    """How gradients are synchronised."""

    ALL_REDUCE = "all_reduce"
    PARAMETER_SERVER = "parameter_server"


class DataPlane(StrEnum):
    """How workers and parameter servers speak: encrypted, or in the clear once both have proved who they are."""

    TLS = "tls"
    HMAC = "hmac"


@dataclass(frozen=True)
class Input:
    """A read-only file of the content-addressed store.

    uri: file:///path to read in place, or http(s):// to fetch with the attempt's token.
    """

    name: str
    sha256: str
    size_bytes: int
    uri: str


FURTHER = "datasets/"
SHARDS = "shards/"  # begins the names of Inputs that are files of a dataset of many
NOTEBOOK = "notebook"  # the kind of a ModelSpec whose pod serves a notebook
NOTEBOOK_TOKEN_HEADER = "X-MLHub-Notebook-Token"
NOTEBOOK_SOCKET = "notebook.sock"  # in the pod's folder of temporary files


def dataset_inputs(filenames: Sequence[str]) -> tuple[str, ...]:
    """The names of the Inputs that are a dataset's files."""
    return tuple(filenames) if len(filenames) == 1 else tuple(f"{SHARDS}{name}" for name in filenames)


def further_input(name: str, filename: str) -> str:
    """The name of the Input that is a file of a further dataset of a script."""
    return f"{FURTHER}{name}/{filename}"


@dataclass(frozen=True)
class Resources:
    """Limits of one pod. gpus counts slots; 0 for a parameter server."""

    gpus: int
    cpus: float
    memory_bytes: int


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset version as the runtime reads it.

    format: a name of wire/formats.py.
    files: names of Inputs. schema: what inspection found: target, classes, shape, columns, counts
    (mlhub/runtime/readers/ writes and reads it).
    """

    format: str
    files: tuple[str, ...]
    schema: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelSpec:
    """Model code. kind: "package" (the contract, a module inside the zip), "script" (torchrun style), "builtin", or
    "notebook", which has no code.
    """

    kind: str
    entry: str  # package: module name; script: path inside the zip; builtin: registered name
    package: str | None = None  # name of the Input that holds the zip; None for builtin
    weights: str | None = None  # name of the Input to start from (safetensors)
    environment: str | None = None  # name of the Input with the packages that the code requires (a zip); None: no more


@dataclass(frozen=True)
class BatchDecision:
    """The global batch that the scheduler's newest round chose for a training whose batch may change.

    noise_scale: of the gradient, in examples, by which the learning rate is scaled; None: not known. reason: for
    people.
    """

    batch_size: int
    noise_scale: float | None = None
    reason: str = ""

    @classmethod
    def from_json(cls, raw: Any) -> BatchDecision:
        """Raises ValueError for what is no decision on a batch."""
        if not isinstance(raw, dict):
            raise ValueError(f"not a batch: {raw!r}")
        size, noise = raw.get("batch_size"), raw.get("noise_scale")
        if type(size) is not int or size < 1:
            raise ValueError(f"batch_size is {size!r}; it must be an integer of at least 1")
        if noise is not None and not (isinstance(noise, int | float) and 0 < noise < float("inf")):
            raise ValueError(f"noise_scale is {noise!r}; it must be finite and above 0")
        return cls(size, None if noise is None else float(noise), str(raw.get("reason", "")))


@dataclass(frozen=True)
class TrainingSpec:
    """What to train, in the user's words. batch_size is the global batch, independent of the number of workers."""

    epochs: int
    batch_size: int
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    evaluation_fraction: float = 0.2  # held out when the dataset has no split of its own
    target_metric: str | None = None
    target_value: float | None = None
    checkpoint_every_s: float = 30.0
    strategy: dict[str, Any] = field(
        default_factory=dict
    )  # mlhub/runtime/strategies/catalogue/schema.py; empty: MLHub chooses
    # with which a training begins whose batch the scheduler decides; None: its trainer decides, within max_batch_size
    batch: BatchDecision | None = None


@dataclass(frozen=True)
class PredictionSpec:
    """What a trained model is asked about a dataset, instead of training; workers share parts of batch_size examples.

    kind: "predict" | "evaluate". examples: "all" | "held_out". features: names of layers whose outputs are wanted
    instead of predictions. output: "parquet" | "npz". combine: an ensemble's members, by "mean" | "vote".
    """

    kind: str
    examples: str = "all"
    features: tuple[str, ...] = ()
    output: str = "parquet"
    combine: str = "mean"


@dataclass(frozen=True)
class PodPlacement:
    """One member of the gang and the node it goes to. index is the rank among workers, the shard among servers."""

    role: PodRole
    index: int
    node: str
    resources: Resources
    slots: tuple[int, ...] = ()  # GPU indices on the node; empty for servers


@dataclass(frozen=True)
class LaunchSpec:
    """A gang to start, all or nothing. Launching the same attempt twice makes one gang.

    survives_lost_workers: the gang goes on without a worker that ends badly, as long as it is not worker 0.
    """

    attempt_id: AttemptId
    job_id: str
    attempt_number: int
    mode: SyncMode
    pods: tuple[PodPlacement, ...]
    inputs: tuple[Input, ...]
    dataset: DatasetSpec | None
    model: ModelSpec
    training: TrainingSpec
    api_url: str
    token: str
    gang_secret: str
    checkpoint_uri: str  # file:///dir shared by the job's attempts
    # organisation, project, job: names, for people. project_id: where a backend isolates projects
    labels: dict[str, str] = field(default_factory=dict)
    start_timeout_s: float = 600.0  # until all pods run, and then until all have joined the gang
    stall_limit_s: float = 600.0  # how long one may wait for others: what takes longer the platform ends
    survives_lost_workers: bool = False
    data_plane: DataPlane = DataPlane.HMAC
    prediction: PredictionSpec | None = None  # of a gang that does not train
    variables: dict[str, str] = field(default_factory=dict)  # of the user, for the trainer's process
    secrets: dict[str, str] = field(default_factory=dict, repr=False)  # the same, from the project's secrets
    image: str = ""  # of the workers' trainers; "": the platform's
    version: int = WIRE_VERSION

    def without_secrets(self) -> LaunchSpec:
        """The specification as it may be stored, and read by everything in the pod."""
        return replace(self, token="", gang_secret="", secrets={})

    @property
    def workers(self) -> tuple[PodPlacement, ...]:
        return tuple(p for p in self.pods if p.role is PodRole.WORKER)

    @property
    def servers(self) -> tuple[PodPlacement, ...]:
        return tuple(p for p in self.pods if p.role is PodRole.SERVER)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> LaunchSpec:
        """Raises ValueError when the text is not a LaunchSpec of this version."""
        raw = _checked(text)
        try:
            return cls(
                **{
                    **raw,
                    "attempt_id": AttemptId(raw["attempt_id"]),
                    "mode": SyncMode(raw["mode"]),
                    "pods": tuple(_pod(p) for p in raw["pods"]),
                    "data_plane": DataPlane(raw.get("data_plane", DataPlane.HMAC)),
                    **_content(raw),
                }
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a launch specification: {error}") from error


@dataclass(frozen=True)
class PodSpec:
    """What one pod reads from $MLHUB_SPEC. Addresses are filled in by the backend, which alone knows them."""

    attempt_id: AttemptId
    job_id: str
    attempt_number: int
    mode: SyncMode
    role: PodRole
    index: int
    n_workers: int
    n_servers: int
    master_address: str  # host:port of rank 0's rendezvous; free at start
    server_addresses: tuple[str, ...]  # host:port, one a shard
    inputs: tuple[Input, ...]
    dataset: DatasetSpec | None
    model: ModelSpec
    training: TrainingSpec
    checkpoint_uri: str
    start_timeout_s: float
    worker_addresses: tuple[str, ...] = ()  # host:port, one a rank, for scripts that listen themselves; free at start
    stall_limit_s: float = 600.0
    data_plane: DataPlane = DataPlane.HMAC
    prediction: PredictionSpec | None = None
    variables: dict[str, str] = field(default_factory=dict)  # of the user, for the trainer's process
    secret_names: tuple[str, ...] = ()  # of the user's secrets, whose values are in $MLHUB_USER_SECRETS_FILE
    version: int = WIRE_VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PodSpec:
        """Raises ValueError when the text is not a PodSpec of this version."""
        raw = _checked(text)
        try:
            return cls(
                **{
                    **raw,
                    "attempt_id": AttemptId(raw["attempt_id"]),
                    "mode": SyncMode(raw["mode"]),
                    "role": PodRole(raw["role"]),
                    "data_plane": DataPlane(raw.get("data_plane", DataPlane.HMAC)),
                    "server_addresses": tuple(raw["server_addresses"]),
                    "worker_addresses": tuple(raw.get("worker_addresses", ())),
                    "secret_names": tuple(raw.get("secret_names", ())),
                    **_content(raw),
                }
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a pod specification: {error}") from error

    @classmethod
    def of(
        cls,
        launch: LaunchSpec,
        pod: PodPlacement,
        *,
        master_address: str,
        server_addresses: tuple[str, ...],
        worker_addresses: tuple[str, ...] = (),
    ) -> PodSpec:
        """One pod's share of a gang's LaunchSpec."""
        return cls(
            attempt_id=launch.attempt_id,
            job_id=launch.job_id,
            attempt_number=launch.attempt_number,
            mode=launch.mode,
            role=pod.role,
            index=pod.index,
            n_workers=len(launch.workers),
            n_servers=len(launch.servers),
            master_address=master_address,
            server_addresses=server_addresses,
            inputs=launch.inputs,
            dataset=launch.dataset,
            model=launch.model,
            training=launch.training,
            checkpoint_uri=launch.checkpoint_uri,
            start_timeout_s=launch.start_timeout_s,
            stall_limit_s=launch.stall_limit_s,
            worker_addresses=worker_addresses,
            data_plane=launch.data_plane,
            prediction=launch.prediction,
            variables=launch.variables,
            secret_names=tuple(sorted(launch.secrets)),
        )


def _checked(text: str) -> dict[str, Any]:
    raw = json.loads(text)
    if not isinstance(raw, dict):
        raise ValueError("a specification is a JSON object")
    if raw.get("version") != WIRE_VERSION:
        raise ValueError(f"specification version {raw.get('version')!r}; this runtime reads {WIRE_VERSION}")
    return raw


def _pod(raw: dict[str, Any]) -> PodPlacement:
    return PodPlacement(
        role=PodRole(raw["role"]),
        index=raw["index"],
        node=raw["node"],
        resources=Resources(**raw["resources"]),
        slots=tuple(raw["slots"]),
    )


def _training(raw: dict[str, Any]) -> TrainingSpec:
    batch = raw.get("batch")
    return TrainingSpec(**{**raw, "batch": None if batch is None else BatchDecision.from_json(batch)})


def _content(raw: dict[str, Any]) -> dict[str, Any]:
    dataset, prediction = raw["dataset"], raw.get("prediction")
    return {
        "inputs": tuple(Input(**i) for i in raw["inputs"]),
        "dataset": DatasetSpec(**{**dataset, "files": tuple(dataset["files"])}) if dataset else None,
        "model": ModelSpec(**raw["model"]),
        "training": _training(raw["training"]),
        "prediction": PredictionSpec(**{**prediction, "features": tuple(prediction["features"])})
        if prediction
        else None,
    }
