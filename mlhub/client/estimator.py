# SPDX-License-Identifier: Apache-2.0
"""Estimator: what to train and how; fit() uploads, submits, waits and gives back a TrainedModel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from mlhub.client.api import Api, Progress, Refused
from mlhub.client.frames import array_upload, coded, is_array, table_upload
from mlhub.client.model import Asked, TrainedModel, kept

LEFT_OUT = ("model", "label", "features", "url", "token", "project", "progress")


@dataclass
class Estimator:
    """Trains a model on an MLHub; MLHub chooses what is left out.

    model: name or id of a model, name@alias, or the id of a finished job to continue from. label: the column of a table
    to predict. features: the columns to learn from; by default all others. project: name or id; not needed where there
    is one. resources: of each pod, such as {"memory_gib": 4}; limits: when the job is ended, such as {"stall_s": 900}.
    environment: variables of its processes; secrets: names of secrets of the project that become variables, too.
    image: a container image for its workers, where the platform runs on Kubernetes.
    progress: called with a line whenever something happens, such as print.
    """

    model: str = "mlp"
    label: str | None = None
    features: Sequence[str] | None = None
    url: str = "http://127.0.0.1:8000"
    token: str = field(default="", repr=False)
    project: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    strategy: str | Mapping[str, Any] | None = None
    hyperparameters: Mapping[str, Any] | None = None
    min_workers: int | None = None
    max_workers: int | None = None
    seed: int | None = None
    priority: int | None = None
    resources: Mapping[str, float] | None = None
    limits: Mapping[str, float] | None = None
    environment: Mapping[str, str] | None = None
    secrets: Sequence[str] | None = None
    image: str | None = None
    target_metric: str | None = None
    target_value: float | None = None
    name: str | None = None
    progress: Progress | None = field(default=None, repr=False)

    def fit(self, data: Any, y: Any = None) -> TrainedModel:
        """Uploads the data, trains, waits until the job has succeeded, and returns the trained model.

        data: a table with the label, or an array x with y. Raises Refused for what the platform does not take, and
        ValueError and TypeError for data that cannot be used.
        """
        classes = None
        if is_array(data):
            if y is None:
                raise ValueError("Of an array x the targets y are needed: fit(x, y).")
            numbers, classes = coded(y, None)
            upload = array_upload(data, numbers)
        else:
            if self.label is None:
                raise ValueError("Which column is to be predicted? Give the Estimator label=...")
            upload = table_upload(data, features=self.features, label=self.label)
        api = Api(self.url, self.token)
        project = self._project(api)
        version = kept(api, upload, project=project)
        job = api.submit(dataset_version=version["id"], project=project, **self._model(api), **self._training_options())
        done = api.wait_for_job(job["id"], self.progress)
        if done["result_version"] is None:
            raise Refused({"detail": f"The job {done['id']} handed in no weights.", "remedy": "Does the model train?"})
        asked = Asked(
            job=done["id"],
            model_version=done["result_version"],
            project=project,
            label=None if is_array(data) else self.label,
            features=_columns(version),
            classes=classes or version["schema"].get("classes"),
            is_coded=classes is not None,
            metrics=done["result_metrics"],
            config=self.config(),
        )
        return TrainedModel(api, asked, progress=self.progress)

    def config(self) -> dict[str, Any]:
        """All arguments but the token and progress."""
        chosen = {name: value for name, value in asdict(self).items() if name not in ("token", "progress")}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()}

    def _training_options(self) -> dict[str, Any]:
        given = {n: v for n, v in self.config().items() if n not in LEFT_OUT and v is not None}
        if isinstance(self.strategy, str):
            given["strategy"] = {"name": self.strategy}
        return given

    def _project(self, api: Api) -> str:
        found = api.get("/projects", limit=200)["results"]
        fits = [p for p in found if self.project in (None, p["id"], p["name"])]
        if len(fits) == 1:
            return str(fits[0]["id"])
        names = ", ".join(p["name"] for p in found) or "none; an administrator makes one"
        raise ValueError(f"Which project? Give project=...; there are: {names}.")

    def _model(self, api: Api) -> dict[str, str]:
        if _is_id(self.model):
            try:
                job = api.get(f"/jobs/{self.model}")
            except Refused:
                return {"model": self.model}
            if job["result_version"] is None:
                raise ValueError(f"The job {self.model} has no model: its state is {job['state']}.")
            return {"model_version": job["result_version"]}
        if "@" in self.model:
            return {"model": self.model}  # the platform resolves the alias
        found = api.get("/models", name=self.model, limit=1)["results"]
        if not found:
            raise ValueError(f"There is no model called {self.model!r} that you may see.")
        return {"model": found[0]["id"]}


def _columns(version: Mapping[str, Any]) -> list[str] | None:
    """The columns of a table's version; None of arrays."""
    columns = version["schema"].get("columns")
    return None if columns is None else [str(column["name"]) for column in columns]


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
