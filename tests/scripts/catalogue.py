# SPDX-License-Identifier: Apache-2.0
"""Scripts written in the style of public ones: how each is run, and what must have arrived when it is done."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Script:
    """metrics: last values that must have arrived, None for any. files: artifacts, below output/.
    weights: the parameters of the model version that it becomes. model_class: how the version's metadata says what it
    is, at the beginning."""

    name: str
    entry: str = "train.py"
    n_workers: int = 1
    hyperparameters: Mapping[str, object] = field(default_factory=dict)
    epochs: int = 1
    metrics: Mapping[str, float | None] = field(default_factory=lambda: {"train/loss": None})
    files: tuple[str, ...] = ()
    weights: tuple[str, ...] = ("weight", "bias")
    n_checkpoints: int = 0
    model_class: str = ""

    @property
    def folder(self) -> Path:
        return PROGRAMS / self.name

    def package(self) -> bytes:
        """The folder as a zip."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for path in sorted(self.folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(self.folder))
        return written.getvalue()

    def n_lines_changed(self) -> int:
        """Lines that are there for MLHub's sake: those that name it or one of its variables."""
        lines = [line for path in self.folder.rglob("*.py") for line in path.read_text().splitlines()]
        return sum("mlhub" in line.lower() and not line.lstrip().startswith(('"""', "#")) for line in lines)


_GPT2 = (
    "transformer.wte.weight", "transformer.wpe.weight",
    *(
        f"transformer.{part}.{kind}"
        for part in (
            "ln_f",
            *(
                f"h.{i}.{layer}"
                for i in range(2)
                for layer in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
            ),
        )
        for kind in ("weight", "bias")
    ),
)  # fmt: skip
_BERT = (
    *(f"bert.embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")),
    *(
        f"{part}.{kind}"
        for part in (
            "classifier", "bert.pooler.dense", "bert.embeddings.LayerNorm",
            *(f"bert.encoder.layer.0.attention.self.{name}" for name in ("query", "key", "value")),
            *(f"bert.encoder.layer.0.attention.output.{name}" for name in ("dense", "LayerNorm")),
            "bert.encoder.layer.0.intermediate.dense",
            *(f"bert.encoder.layer.0.output.{name}" for name in ("dense", "LayerNorm")),
        )
        for kind in ("weight", "bias")
    ),
)  # fmt: skip
_NAMED = ("0.weight", "0.bias", "2.weight", "2.bias")
SCRIPTS = (
    Script("plain_torch", metrics={"train/loss": None, "train/accuracy": None}, files=("model.pt",), weights=_NAMED),
    Script(
        "ddp_digits", entry="main.py", n_workers=2, metrics={"train/accuracy": None}, files=("mnist_cnn.pt",),
        weights=("features.0.weight", "features.0.bias", "head.weight", "head.bias"),
    ),
    Script(
        "argparse_options", hyperparameters={"lr": 0.02, "hidden_size": 8, "verbose": True}, epochs=3,
        metrics={"train/mse": None, "train/hidden": 8.0}, files=("regressor.pth",), weights=_NAMED,
    ),
    Script("package_folder", entry="trainer/train.py", files=("weights.pt",), weights=_NAMED),
    Script("loader_workers", files=("linear.pth", "whole_model.pth")),
    Script("iterable_dataset", metrics={"train/loss": None, "train/examples": 1000.0}, files=("stream.pt",)),
    Script("tensorboard_writer", metrics={"Loss/train_set": None, "train/lr": 0.1}, files=("model_final.pt",)),
    Script("resume_checkpoints", files=("checkpoints/epoch_5.pt",), n_checkpoints=5),
    Script(
        "nano_gpt", hyperparameters={"arguments": ["--max_iters=30", "--batch_size=8"]},
        metrics={"train/train_loss": None, "train/val_loss": None}, files=("ckpt.pt",), n_checkpoints=1,
        weights=(
            "token.weight", "position.weight", "qkv.weight", "qkv.bias", "mlp.0.weight", "mlp.0.bias", "mlp.1.weight",
            "mlp.1.bias", "mlp.3.weight", "mlp.3.bias", "head.weight",
        ),
    ),
    Script("amp_autocast", metrics={"train/loss": None, "train/bfloat16": 1.0}, files=("ckpt.pth",), weights=_NAMED),
    Script("gradient_accumulation", files=("model.bin", "results.json")),
    Script(
        "fsdp_fully_shard", n_workers=2, metrics={"train/loss": None, "train/workers": 2.0}, files=("sharded.pt",),
        weights=_NAMED,
    ),
    Script(
        "torchrun_environment", n_workers=2, metrics={"train/workers": 2.0}, files=("total.pt",), weights=("total",)
    ),
    Script(
        "schedule_early_stop", metrics={"train/val_loss": None, "train/lr": None},
        files=("best_model.pt", "last_model.pt"),
    ),
    Script("json_lines", files=("history.csv", "model.safetensors")),
    Script("spawned_processes", metrics={"train/loss": None, "train/processes": 2.0}, files=("spawned.pt",)),
    Script("horovod_torch", n_workers=2, metrics={"train/loss": None, "train/workers": 2.0}, files=("horovod.pt",)),
    Script(
        "mlflow_client", metrics={"train/loss": None, "train/steps": 50.0, "val/mse": None},
        files=("line.pt", "notes/slope.txt"),
    ),
    Script(
        "hf_trainer", metrics={"train/loss": None, "train/eval_loss": None}, n_checkpoints=2,
        files=("results/final/model.safetensors", "results/final/config.json"),
        weights=_GPT2, model_class="GPT2LMHeadModel",
    ),
    Script(
        "hf_datasets", entry="run_classification.py", n_workers=2, n_checkpoints=1,
        hyperparameters={
            "arguments": [
                "--train_file=reviews.jsonl", "--output_dir=output", "--num_train_epochs=4", "--logging_steps=1",
                "--save_strategy=epoch", "--per_device_train_batch_size=4", "--save_total_limit=1",
            ],
        },
        metrics={"train/loss": None, "train/eval_accuracy": None, "train/learning_rate": None},
        files=("model.safetensors", "train_results.json", "checkpoint-8/trainer_state.json"), weights=_BERT,
        model_class="BertForSequenceClassification",
    ),
    Script(
        "lightning_ddp", n_workers=2, hyperparameters={"num_nodes": "$WORLD_SIZE"}, n_checkpoints=1,
        metrics={"train/train_loss": None, "train/val_acc": None, "train/world_size": 2.0},
        weights=("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"),
    ),
    Script(
        "accelerate_loop", n_workers=2, metrics={"train/train_loss": None, "train/processes": 2.0},
        files=("model.safetensors",), weights=_NAMED, n_checkpoints=3,
    ),
    Script(
        "keras_torch", metrics={"train/accuracy": None, "train/val_loss": None}, n_checkpoints=4,
        files=("classifier.keras", "history.csv"), weights=("dense.0", "dense.1", "dense_1.0", "dense_1.1"),
        model_class="Keras 3",
    ),
    Script(
        "sklearn_partial_fit", epochs=5, metrics={"train/accuracy": None, "train/log_loss": None},
        files=("model.joblib",), weights=("coef_", "intercept_", "classes_"), model_class="sklearn SGDClassifier",
    ),
    Script("reports_by_call", metrics={"train/loss": None, "eval/accuracy": None}, files=("classifier.pt",)),
)  # fmt: skip


def script_named(name: str) -> Script:
    return next(script for script in SCRIPTS if script.name == name)
