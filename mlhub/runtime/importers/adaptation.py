# SPDX-License-Identifier: Apache-2.0
"""Fits what was read to a job: the shapes of its dataset, its classes, and what the model expects of inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers.graph import Blueprint, Step, module_of
from mlhub.runtime.importers.layers import Affine, ApplyFunction, TwoClasses

# what the job may set in addition to the training loop's own hyperparameters; None takes a number or a list
HYPERPARAMETERS: dict[str, Any] = {
    "replace_head": False,
    "freeze": False,
    "keep_softmax": False,
    "input_scale": None,
    "input_shift": None,
    "reverse_channels": False,
}
AdaptationValues = Mapping[str, Any]


def fitted(blueprint: Blueprint, values: AdaptationValues) -> nn.Module:
    """The model that a job trains. values: its hyperparameters and the facts of its dataset (contract.settings).

    Raises BadInputError where the model does not fit the dataset, with the hyperparameter that helps.
    """
    steps, notes = list(blueprint.steps), list(blueprint.notes)
    if values.get("task") == "classification" and not values.get("keep_softmax"):
        steps, output = _as_logits(steps, blueprint.output, int(values.get("n_classes", 0)), notes)
    else:
        output = blueprint.output
    shape = list(values["input_shape"])
    before = _before(blueprint, values, shape)
    width = _wanted_width(values)
    if width is not None and values.get("replace_head"):
        steps = _with_head(steps, output, width, notes)
    if before:
        steps = [*_chained(before, blueprint.input), *_renamed(steps, blueprint.input, _PREPARED)]
    model = module_of(steps, input=blueprint.input, output=output)
    if width is not None and len(_tried(model, blueprint, shape, width)) > 1:  # such as (10, 1, 1), of convolutions
        model = module_of([*steps, Step("row", nn.Flatten(), [output], [_ROW])], input=blueprint.input, output=_ROW)
    if values.get("freeze"):
        _freeze(model)
    for note in notes:
        print(f"{blueprint.format}: {note}", flush=True)
    return model


_PREPARED, _ROW = "prepared input", "row of outputs"


def _wanted_width(values: AdaptationValues) -> int | None:
    if values.get("task") == "classification":
        return int(values["n_classes"])
    return 1 if values.get("task") == "regression" else None


def _before(blueprint: Blueprint, values: AdaptationValues, shape: Sequence[int]) -> list[nn.Module]:
    """What inputs go through before the model's first layer."""
    found: list[nn.Module] = []
    scale, shift = values.get("input_scale"), values.get("input_shift")
    reverses = bool(values.get("reverse_channels"))
    if reverses and (len(shape) < 2):
        raise _unfit(
            f"Examples of the shape {list(shape)} have no channels to reverse.",
            "Leave reverse_channels out.",
            field="hyperparameters.reverse_channels",
        )
    if not blueprint.takes_indices and (scale is not None or shift is not None or reverses):
        made = (_each(scale, 1.0, shape, "input_scale"), _each(shift, 0.0, shape, "input_shift"))
        found.append(Affine(*made, reverses=reverses))
    wanted = blueprint.input_shape
    if wanted is not None and not _matches(shape, wanted):
        found.append(_reshaped(blueprint, shape, wanted))
    return found


def _matches(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(w is None or s == w for s, w in zip(shape, wanted, strict=True))


def _reshaped(blueprint: Blueprint, shape: Sequence[int], wanted: Sequence[int | None]) -> nn.Module:
    """Flat examples for images, and images for flat ones; an image without an axis for channels."""
    given = math.prod(shape)
    open_axes = [i for i, n in enumerate(wanted) if n is None]
    if not open_axes and math.prod(n for n in wanted if n is not None) == given:
        target = [int(n) for n in wanted if n is not None]
        turns = blueprint.is_channels_last and (len(shape) == 3 and shape[0] > 1)
        unturns = blueprint.is_channels_last and (len(target) == 3 and target[0] > 1)
        is_same_image = [n for n in shape if n != 1] == [n for n in target if n != 1]
        if len(target) == 1 or len(shape) == 1 or is_same_image:

            def reshape(x: Tensor) -> Tensor:
                flat = (x.movedim(1, -1) if turns else x).flatten(1)
                if unturns:
                    return flat.reshape(-1, *target[1:], target[0]).movedim(-1, 1)
                return flat.reshape(-1, *target)

            return ApplyFunction(f"reshape to {target}", reshape)
        if len(shape) == 3 and not blueprint.is_channels_last and [*shape[1:], shape[0]] == target:
            return ApplyFunction("channels last", lambda x: x.movedim(1, -1))
    shown = [n if n is not None else "any" for n in wanted]
    raise _unfit(
        f"The model was built for examples of the shape {shown}; those of the dataset have {list(shape)}.",
        f"Prepare the dataset for {shown} (channels first), or export the model for {list(shape)}.",
        field="model",
    )


def _each(value: Any, default: float, shape: Sequence[int], name: str) -> Tensor:
    """One number, or one a channel, in a shape that an example takes."""
    field = f"hyperparameters.{name}"
    numbers = [default] if value is None else value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise _unfit(f"{name} is {value!r}.", "Give a number, or a list with one for each channel.", field=field)
    if len(numbers) not in (1, shape[0]):
        raise _unfit(
            f"{name} has {len(numbers)} numbers; examples have {shape[0]} channels.",
            f"Give one number, or {shape[0]}.",
            field=field,
        )
    return torch.tensor(numbers, dtype=torch.float32).reshape(-1, *([1] * (len(shape) - 1)))


def _chained(modules: Sequence[nn.Module], input: str) -> list[Step]:
    names = [input, *(f"{_PREPARED} {i}" for i in range(len(modules) - 1)), _PREPARED]
    return [Step(f"prepare_{i}", m, [names[i]], [names[i + 1]]) for i, m in enumerate(modules)]


def _renamed(steps: Sequence[Step], old: str, new: str) -> list[Step]:
    """With what they read of `old` read of `new`, until a step writes it again."""
    found, is_rewritten = [], False
    for step in steps:
        inputs = step.inputs if is_rewritten else [new if name == old else name for name in step.inputs]
        found.append(Step(step.name, step.module, inputs, step.outputs))
        is_rewritten = is_rewritten or old in step.outputs
    return found


def _as_logits(steps: list[Step], output: str, n_classes: int, notes: list[str]) -> tuple[list[Step], str]:
    """Without the softmax at the end; a single sigmoid for two classes becomes logits of both."""
    at = _writer(steps, output)
    if at is None or len(steps[at].inputs) != 1 or len(steps[at].outputs) != 1:
        return steps, output
    last = steps[at]
    if isinstance(last.module, nn.Softmax | nn.LogSoftmax):
        notes.append(f"{last.name}, a softmax at the end, is left off: the loss takes logits (keep_softmax keeps it)")
        return steps[:at], last.inputs[0]
    if isinstance(last.module, nn.Sigmoid) and n_classes == 2 and _width_of(_head(steps[:at], last.inputs[0])) == 1:
        notes.append(f"{last.name}, one sigmoid, gives logits of both classes (keep_softmax keeps it)")
        return [*steps[:at], Step(last.name, TwoClasses(), last.inputs, last.outputs)], output
    if isinstance(last.module, nn.Identity | nn.Flatten | nn.Dropout):
        kept, before = _as_logits(steps[:at], last.inputs[0], n_classes, notes)
        return [*kept, Step(last.name, last.module, [before], last.outputs), *steps[at + 1 :]], output
    return steps, output


def _writer(steps: Sequence[Step], name: str) -> int | None:
    return next((i for i in reversed(range(len(steps))) if name in steps[i].outputs), None)


def _head(steps: Sequence[Step], output: str) -> Step | None:
    """The last step with parameters, where what follows is a row of layers without any."""
    while (at := _writer(steps, output)) is not None:
        step = steps[at]
        if any(True for _ in step.module.parameters()):
            return step
        if len(step.inputs) != 1:
            return None
        steps, output = steps[:at], step.inputs[0]
    return None


def _width_of(step: Step | None) -> int | None:
    if step is not None and isinstance(step.module, nn.Linear):
        return step.module.out_features
    if step is not None and isinstance(step.module, nn.Conv2d):
        return step.module.out_channels
    return None


def _with_head(steps: list[Step], output: str, width: int, notes: list[str]) -> list[Step]:
    """A new last layer, whatever the width of the old one."""
    head = _head(steps, output)
    old = None if head is None else head.module
    if head is None or not isinstance(old, nn.Linear | nn.Conv2d) or (isinstance(old, nn.Conv2d) and old.groups > 1):
        found = "none" if head is None else f"{head.name}, a {type(head.module).__name__}"
        raise _unfit(
            f"The last layer with weights is {found}: no linear layer or convolution that could be replaced.",
            "Export the model without what follows its last linear layer, or change it in a package with model.py.",
            field="hyperparameters.replace_head",
        )
    new: nn.Module
    if isinstance(old, nn.Linear):
        new = nn.Linear(old.in_features, width, bias=old.bias is not None)
    else:
        settings = {"stride": old.stride, "padding": old.padding, "dilation": old.dilation}
        new = nn.Conv2d(old.in_channels, width, old.kernel_size, bias=old.bias is not None, **settings)  # type: ignore[arg-type]
    notes.append(f"{head.name} ({_width_of(head)} outputs) is replaced by a new layer with {width}")
    # two classes from one sigmoid need no turning once there is a logit for each
    kept = [
        Step(step.name, nn.Identity(), step.inputs, step.outputs) if isinstance(step.module, TwoClasses) else step
        for step in steps
    ]
    return [Step(s.name, new, s.inputs, s.outputs) if s.name == head.name and s.module is old else s for s in kept]


def _freeze(model: nn.Module) -> None:
    """Everything but the last layer with parameters."""
    layers = [m for m in model.modules() if next(m.parameters(recurse=False), None) is not None]
    for layer in layers[:-1]:
        for parameter in layer.parameters(recurse=False):
            parameter.requires_grad = False


def _tried(model: nn.Module, blueprint: Blueprint, shape: Sequence[int], width: int) -> list[int]:
    """The shape of the answer to one example, by a pass over zeros: every layer fits the one before it, and the last
    one the targets. Raises BadInputError."""
    zeros = torch.zeros(2, *shape, dtype=torch.long if blueprint.takes_indices else torch.float32)
    model.eval()
    try:
        with torch.no_grad():
            made = model(zeros)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise _unfit(
            f"The {blueprint.format} model cannot be applied to examples of the shape {list(shape)}: {error}",
            "Prepare the dataset as the model was trained with (channels first), or export it for these and any batch.",
            field="model",
        ) from error
    model.train()
    found = list(made.shape[1:]) if isinstance(made, Tensor) else []
    if math.prod(found) != width or not isinstance(made, Tensor):
        raise _unfit(
            f"The model gives {found} for an example; the dataset asks for {width}.",
            "Give the hyperparameter replace_head: true for a new last layer; all others keep their weights.",
            field="hyperparameters.replace_head",
        )
    return found


def _unfit(message: str, remedy: str, *, field: str) -> BadInputError:
    return BadInputError(message, field=field, remedy=remedy, code="does_not_fit")
