# SPDX-License-Identifier: Apache-2.0
"""python convert.py onnx|torch_export FILE: the model in a format of other programs, checked against the original."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .model import ExportedModel

TOLERANCE = 1e-4  # of outputs, relative to one more than their size: absolute near zero
N_TRACED, N_CHECKED = 2, 5  # examples; that they differ shows that any number can be given
NEEDS = ("onnx", "onnxscript", "onnxruntime")
RunConverted = Callable[[Tensor], Tensor]


class NotConvertibleError(RuntimeError):
    """The model cannot be converted; the message gives the reason."""


class ConvertedModule(nn.Module):
    """From inputs as preprocessing.json encodes them to probabilities, to numbers in the target's unit, or to the raw
    outputs of other tasks. The preprocessing of batches is part of it."""

    def __init__(self, model: ExportedModel) -> None:
        super().__init__()
        self.network, self._model = model.network, model

    def forward(self, inputs: Tensor) -> Tensor:
        return self._model.answers(self.network(self._model.preprocess(inputs)))


def convert(folder: Path, argv: Sequence[str] | None = None) -> int:
    """Writes the file. Returns the exit status: 1 for a model that cannot be converted."""
    parser = argparse.ArgumentParser(prog="convert.py", description="Convert an exported model.")
    parser.add_argument("format", choices=WRITERS)
    parser.add_argument("file", type=Path)
    asked = parser.parse_args(argv)
    try:
        difference = converted(ExportedModel(folder), asked.format, asked.file)
    except NotConvertibleError as error:
        print(f"convert.py: {error}", file=sys.stderr)
        return 1
    print(f"Written: {asked.file}. Its outputs differ by {difference:.1e} at most, relative to 1 + |output|.")
    return 0


def converted(model: ExportedModel, format: str, file: Path) -> float:
    """Writes the file and returns the largest difference of its outputs, relative to 1 + |output|.

    Raises NotConvertibleError.
    """
    if model.is_ensemble:
        raise NotConvertibleError("An ensemble has several members, which these formats cannot hold as one model.")
    module = ConvertedModule(model).eval()
    given = _examples(model, N_CHECKED)
    try:
        with torch.no_grad():
            expected = module(given)
            found = WRITERS[format](module, _examples(model, N_TRACED), file)(given)
    except NotConvertibleError:
        raise
    except Exception as error:  # the exporters raise many types, all of them about this model
        file.unlink(missing_ok=True)
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise NotConvertibleError(f"The model cannot be converted to {format}: {reason[0][:1000]}") from error
    difference = float(((found - expected).abs() / (1 + expected.abs())).max())
    if not difference <= TOLERANCE:  # also of outputs that are no numbers
        file.unlink(missing_ok=True)
        raise NotConvertibleError(f"The converted model's outputs differ by {difference:.1e}; it was not kept.")
    return difference


def _examples(model: ExportedModel, n: int) -> Tensor:
    """Inputs in the range of the training's, the same ones each time."""
    facts, generator = model.facts, torch.Generator().manual_seed(n)
    shape = [n, *facts["input_shape"]]
    if facts.get("task") == "language_modelling":
        return torch.randint(int(facts["vocabulary_size"]), shape, generator=generator)
    if model.reader.takes_integers:
        return torch.randint(2, shape, generator=generator)
    return torch.rand(shape, generator=generator)


def _onnx(module: nn.Module, given: Tensor, file: Path) -> RunConverted:
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise NotConvertibleError(f"{', '.join(missing)} must be there: pip install -r requirements-onnx.txt")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of operators of packages that are not there
    warnings.filterwarnings("ignore", category=FutureWarning)  # of torch to its own exporter
    sizes = ({0: torch.export.Dim("examples")},)
    torch.onnx.export(
        module, (given,), file, input_names=["inputs"], output_names=["outputs"], dynamic_shapes=sizes,
        dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip
    session = importlib.import_module("onnxruntime").InferenceSession(file, providers=["CPUExecutionProvider"])
    return lambda inputs: torch.from_numpy(session.run(None, {"inputs": inputs.numpy()})[0])


def _torch_export(module: nn.Module, given: Tensor, file: Path) -> RunConverted:
    program = torch.export.export(module, (given,), dynamic_shapes=({0: torch.export.Dim("examples")},))
    torch.export.save(program, file)
    read: Any = torch.export.load(file).module()
    return lambda inputs: read(inputs)


WRITERS: Mapping[str, Callable[[nn.Module, Tensor, Path], RunConverted]] = {
    "onnx": _onnx,
    "torch_export": _torch_export,
}
