# SPDX-License-Identifier: Apache-2.0
"""What an export says of its model: model.json, preprocessing.json, the pinned requirements and the README."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from mlhub._version import __version__
from mlhub.environments.base import base_packages
from mlhub.registry.models import ModelVersion
from mlhub.runtime.data.readers import facts_of
from mlhub.wire.formats import PICTURES

FORMAT_VERSION = 1
ONNX = ("onnx==1.23.2", "onnxruntime==1.32.0", "onnxscript==0.7.2")  # as requirements-dev.txt has them, for the tests
IMAGE_DIMENSIONS = 3  # channels, height, width
ROWS = {
    "csv": ("rows.csv", "a CSV file with the columns {columns}, or JSON rows such as {{{example}}}"),
    "parquet": ("rows.csv", "a CSV file with the columns {columns}, or JSON rows such as {{{example}}}"),
    "json_lines": ("rows.csv", "a CSV file with the columns {columns}, or JSON rows such as {{{example}}}"),
    "image_folder": ("image.png", 'image files, or JSON rows such as {{"image": "(base64)"}}'),
    "webdataset": ("image.png", 'image files, or JSON rows such as {{"image": "(base64)"}}'),
    "audio_folder": (
        "clip.wav",
        'WAV files (of other formats where soundfile is installed), or JSON rows such as {{"audio": "(base64)"}}',
    ),
    "npz": ("rows.json", 'JSON rows such as {{"x": [...]}}, each of the shape {shape}'),
    "text": ("text.txt", 'text files, or JSON rows such as {{"text": "..."}}'),
    "text_lines": ("text.txt", 'text files, or JSON rows such as {{"text": "..."}}'),
}


def model_description(version: ModelVersion) -> dict[str, Any]:
    """The content of model.json. version: with model, code_version and dataset_version."""
    code, metadata = version.code_version or version, version.metadata
    return {
        "format_version": FORMAT_VERSION,
        "name": version.model.name,
        "number": version.number,
        "kind": code.kind,
        "entry": code.entry,
        "hyperparameters": metadata.get("hyperparameters") or {},
        "seed": int(metadata.get("seed") or 0),
        "combine": (metadata.get("strategy") or {}).get("combine", "mean"),
        "metrics": version.metrics,
        "lineage": {
            "model_version": str(version.pk),
            "code_version": _text(version.code_version_id),
            "dataset_version": _text(version.dataset_version_id),
            "job": _text(version.job_id),
            "weights_sha256": version.weights_id,
        },
        "made_by": f"MLHub {__version__}",
    }


def preprocessing(format: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The content of preprocessing.json: how rows become inputs, by the dataset that the model was trained on."""
    return {
        "format": format,
        "dtype": schema.get("dtype", "uint8" if format in PICTURES else "float32"),
        "target": schema.get("target"),
        "columns": schema.get("columns", []),
        "facts": facts_of(schema),
    }


def requirements(version: ModelVersion, about: Mapping[str, Any]) -> list[str]:
    """Pinned lines of requirements.txt: torch and NumPy, Pillow for images, and what the model's own code requires."""
    names = ["torch", "numpy"]
    if len(about["facts"].get("input_shape", ())) == IMAGE_DIMENSIONS:
        names.append("pillow")
    pins = {name: base_packages()[name].partition("+")[0] for name in names}
    environment = (version.code_version or version).environment
    if environment is not None:
        pins |= {str(each["name"]).lower(): str(each["version"]) for each in environment.packages}
    return [f"{name}=={number}" for name, number in pins.items()]


def readme(version: ModelVersion, about: Mapping[str, Any]) -> str:
    """README.md, in words for people who have never seen MLHub."""
    facts, columns = about["facts"], [str(column["name"]) for column in about["columns"]]
    example = ", ".join(f'"{name}": ...' for name in columns[:3])
    file, takes = ROWS[about["format"]]
    takes = takes.format(columns=", ".join(columns[:50]), example=example, shape=facts.get("input_shape"))
    metrics = "".join(f"- {name}: {value}\n" for name, value in sorted(version.metrics.items()))
    return README.format(
        name=version.model.name,
        number=version.number,
        python=".".join(platform.python_version_tuple()[:2]),
        file=file,
        takes=takes,
        task=str(facts.get("task", "unknown")).replace("_", " "),
        metrics=f"\n## Metrics\n\nOn the examples that training held out:\n\n{metrics}" if metrics else "",
    )


README = """# {name}, version {number}

A trained model with everything that it needs to predict: weights, code, preprocessing, and the versions of packages.

    python{python} -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/python predict.py {file}

`predict.py` takes {takes}. It prints a list with a prediction for each row. The task is {task}.
`serve.py` predicts over HTTP for programs on this machine. `convert.py` writes the model as ONNX (with the packages of
`requirements-onnx.txt`) or by `torch.export`, and checks its outputs; inputs are those that
`preprocessing.json` encodes.

| file | content |
|---|---|
| `weights.safetensors` | the trained weights |
| `code/` | the code of the model: `build_model` of the module that `model.json` names |
| `preprocessing.json` | how rows become inputs: columns, their scale, categories and dates, names of the classes |
| `model.json` | hyperparameters, metrics, and where the model comes from |
| `predict.py`, `exported_model` | the program; in Python `exported_model.model.ExportedModel(folder).predict(rows)` |
{metrics}"""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
