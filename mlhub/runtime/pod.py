# SPDX-License-Identifier: Apache-2.0
"""The pod's own specification, secrets and folders, read from the environment. Standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

from mlhub.wire import environment as names
from mlhub.wire.launch import NOTEBOOK, PodRole, PodSpec


@dataclass(frozen=True)
class Pod:
    """What a process of a pod knows of itself."""

    spec: PodSpec
    work: Path
    api_url: str
    token: str
    secret: bytes  # shared by the gang, for the handshake between its members
    cache: Path  # shared with other pods of this machine, or this pod's own
    # environment variables of the trainer, whose values appear in no log
    user_secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] = os.environ) -> Pod:
        """Reads the pod. Raises ValueError when a variable is missing or the specification cannot be read."""
        try:
            spec = PodSpec.from_json(Path(variables[names.SPEC_PATH]).read_text())
            token = Path(variables[names.TOKEN_PATH]).read_text().strip()
            secret = bytes.fromhex(Path(variables[names.SECRET_PATH]).read_text().strip())
            user_secrets = _user_secrets(variables.get(names.USER_SECRETS_PATH, ""))
            work = Path(variables[names.WORK_DIR])
            cache = Path(variables.get(names.CACHE_DIR) or work / "cache")
            return cls(spec, work, variables[names.API_URL], token, secret, cache, user_secrets)
        except KeyError as error:
            raise ValueError(f"The environment variable {error.args[0]} is missing.") from error
        except OSError as error:
            raise ValueError(f"{error.filename}: {error.strerror}") from error

    @property
    def is_reporter(self) -> bool:
        """Whether this pod reports for the gang: rank 0 does."""
        return self.spec.role is PodRole.WORKER and self.spec.index == 0

    @property
    def may_record(self) -> bool:
        """Whether a profile of this pod can be recorded: a worker that trains, or a server that holds its weights."""
        is_training = self.spec.prediction is None and self.spec.model.kind != NOTEBOOK
        return is_training and (self.spec.role is PodRole.WORKER or self.spec.model.kind != "script")

    @property
    def reports(self) -> Path:
        return self.work / "reports.jsonl"

    @property
    def usage(self) -> Path:
        """Samples of what the pod uses of its machine (wire/resource_usage.py), a line each."""
        return self.work / "usage.jsonl"

    @property
    def traffic(self) -> Path:
        """What the training process has sent and received so far (runtime/usage/network.py)."""
        return self.work / "traffic"

    @property
    def heartbeat(self) -> Path:
        return self.work / "heartbeat"

    @property
    def completed(self) -> Path:
        """A file that a worker makes once all of its work is done; exit status 0 alone does not say so."""
        return self.work / "completed"

    @property
    def batch_decision(self) -> Path:
        """The newest BatchDecision that the launcher received, as JSON; absent until then."""
        return self.work / "batch.json"

    @property
    def profiles(self) -> Path:
        """What launcher and trainer leave each other of recordings of torch's profiler (runtime/profiling/)."""
        return self.work / "profiles"

    @property
    def output(self) -> Path:
        return self.work / "output.log"

    @property
    def artifacts(self) -> Path:
        return self.work / "artifacts"

    @property
    def code(self) -> Path:
        return self.work / "code"

    @property
    def kept(self) -> Path:
        """The folder of a parameter server's own snapshots, from which it continues after a crash."""
        return self.work / "kept"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints, which all attempts of the job share."""
        return Path(unquote(urlparse(self.spec.checkpoint_uri).path))

    def write_inputs(self, paths: Mapping[str, Path]) -> None:
        """Records for the main process where each input is, by name."""
        (self.work / "inputs.json").write_text(json.dumps({name: str(path) for name, path in paths.items()}))

    def input(self, name: str) -> Path:
        """The path at which the launcher put that input. Raises KeyError for an unknown name."""
        return Path(json.loads((self.work / "inputs.json").read_text())[name])


def _user_secrets(path: str) -> dict[str, str]:
    """By name. Raises ValueError for a file that is no JSON, OSError."""
    found: dict[str, str] = json.loads(Path(path).read_text()) if path else {}
    return found
