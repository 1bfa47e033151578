# SPDX-License-Identifier: Apache-2.0
"""TrainedModel: what a training gave, on the platform that trained it. Its answers have the order of the rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlhub.client.api import Api, Progress
from mlhub.client.frames import Upload, array_upload, coded, is_array, table_upload
from mlhub.client.synchronous.resumable import FROM_BYTES, ResumableFile

CONFIG, WEIGHTS = "model.json", "weights.safetensors"
VERSION = 1
AnswerArray = NDArray[Any]


@dataclass(frozen=True)
class Asked:
    """What must be known to ask a model again. config: the Estimator's. is_coded: classes are words of the client's."""

    job: str
    model_version: str
    project: str
    label: str | None
    features: list[str] | None
    classes: list[Any] | None
    is_coded: bool
    metrics: dict[str, float]
    config: dict[str, Any]


class TrainedModel:
    """A trained model, which predicts on the platform that trained it. Predictions come in the order of the rows.

    metrics: on the examples that training held out. classes: in the order of the columns of probabilities().
    """

    def __init__(self, api: Api, asked: Asked, *, progress: Progress | None = None) -> None:
        self._api, self.asked, self.progress = api, asked, progress
        self.job, self.metrics, self.classes, self.config = asked.job, asked.metrics, asked.classes, asked.config

    def predict(self, data: Any) -> AnswerArray:
        """The prediction for each row, of shape (rows,): the name of a class, or a number.

        A model without a task gives its outputs, of shape (rows, ...). Raises Refused, and TypeError and ValueError as
        Estimator.fit() does for data that cannot be used.
        """
        return self._answers(data)[0]

    def probabilities(self, data: Any) -> AnswerArray:
        """The probability of each class, of shape (rows, classes).

        Raises ValueError when the model knows no classes, otherwise as predict().
        """
        _, found = self._answers(data)
        if found is None:
            raise ValueError("The model knows no classes, so there are no probabilities.")
        return found

    def features(self, data: Any, layers: Sequence[str]) -> dict[str, AnswerArray]:
        """The outputs of layers by their names, each of shape (rows, ...).

        Raises Refused for a layer that does not exist, otherwise as predict().
        """
        found = self._asked_for(data, output="npz", features=list(layers))
        return {name: found[name] for name in layers}

    def evaluate(self, data: Any, y: Any = None) -> dict[str, float]:
        """The metrics of the training, computed on these examples. The data have targets, as those for Estimator.fit().

        Raises as predict().
        """
        if is_array(data):
            if y is None:
                raise ValueError("Of an array x the targets y are needed: evaluate(x, y).")
            upload = array_upload(data, coded(y, self.classes if self.asked.is_coded else None)[0])
        else:
            upload = table_upload(data, features=self.asked.features, label=self.asked.label)
        metrics: dict[str, float] = self._run(upload, kind="evaluate")["result_metrics"]
        return metrics

    def save(self, path: str | Path) -> None:
        """Writes a folder with the weights and all arguments of the Estimator; the token is not written."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self._api.download(f"/model-versions/{self.asked.model_version}/download", folder / WEIGHTS, what="weights")
        stored = {"version": VERSION, "url": self._api.url, **asdict(self.asked)}
        (folder / CONFIG).write_text(json.dumps(stored, indent=1))

    @classmethod
    def load(
        cls, path: str | Path, *, token: str, url: str | None = None, progress: Progress | None = None
    ) -> TrainedModel:
        """Reads a folder that save() wrote; the model predicts on the platform that trained it.

        Raises OSError, and ValueError for a file of another kind.
        """
        stored = json.loads((Path(path) / CONFIG).read_text())
        if stored.pop("version", None) != VERSION:
            raise ValueError(f"{Path(path) / CONFIG} is not of a model that this client saved.")
        return cls(Api(url or stored.pop("url"), token), _asked(stored), progress=progress)

    def _answers(self, data: Any) -> tuple[AnswerArray, AnswerArray | None]:
        found = self._asked_for(data, output="npz")
        values = found["prediction"] if "prediction" in found else found["output"]
        if self.asked.is_coded and self.classes is not None:
            values = np.asarray(self.classes)[values]
        return values, found.get("probabilities")

    def _asked_for(self, data: Any, **asked: Any) -> dict[str, AnswerArray]:
        """The result's arrays; rows are in order because the platform keeps it."""
        if is_array(data):
            upload = array_upload(data, None)
        else:
            upload = table_upload(data, features=self.asked.features, label=None)
        job = self._run(upload, kind="predict", **asked)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result"
            self._api.download(f"/jobs/{job['id']}/result", path)
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}

    def _run(self, upload: Upload, **asked: Any) -> dict[str, Any]:
        version = kept(self._api, upload, project=self.asked.project)
        project, dataset = self.asked.project, version["id"]
        job = self._api.submit(
            model_version=self.asked.model_version, dataset_version=dataset, project=project, **asked
        )
        return self._api.wait_for_job(job["id"], self.progress)


def kept(api: Api, upload: Upload, *, project: str) -> dict[str, Any]:
    """The dataset version of that content; what was uploaded before is used again. Raises Refused."""
    before = api.get("/datasets", project=project, name=upload.name)["results"]
    found = before[0] if before else None
    if found is None:
        found = _sent(api, upload, project=project)
    return api.wait_for_dataset(found["id"])


def _sent(api: Api, upload: Upload, *, project: str) -> dict[str, Any]:
    fields = {"name": upload.name, "project": project, **upload.options}
    if len(upload.content) < FROM_BYTES:
        return api.upload("/datasets", upload.filename, upload.content, **fields)
    content = BytesIO(upload.content)
    file = ResumableFile(content, size_bytes=len(upload.content), filename=upload.filename, project=project)
    return api.use_upload("/datasets", file.send(api.transport), **fields)


def _asked(stored: dict[str, Any]) -> Asked:
    try:
        return Asked(**{name: stored[name] for name in Asked.__dataclass_fields__})
    except KeyError as error:
        raise ValueError(f"{CONFIG} lacks {error.args[0]}.") from error
