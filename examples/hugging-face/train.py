# SPDX-License-Identifier: Apache-2.0
"""Trains a small vision transformer with Hugging Face's Trainer. Only where the data are is asked of MLHub."""

import argparse
import io
import os
import zipfile

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, random_split
from transformers import EvalPrediction, Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed


class Pictures(Dataset):
    """The pictures of a zip of class folders, as the model's inputs."""

    def __init__(self, path: str) -> None:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.endswith(".png"))
            arrays = [np.asarray(Image.open(io.BytesIO(archive.read(name))).convert("L")) for name in names]
        self.pixels = torch.from_numpy(np.stack(arrays)).float().unsqueeze(1) / 127.5 - 1
        self.labels = torch.tensor([int(name.split("/")[0]) for name in names])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict:
        return {"pixel_values": self.pixels[index], "labels": self.labels[index]}


def accuracy(prediction: EvalPrediction) -> dict:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=os.environ.get("MLHUB_DATASET", "../images/digits.zip"))
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    pictures = Pictures(options.data)
    training, held_out = random_split(pictures, [0.8, 0.2], torch.Generator().manual_seed(0))
    set_seed(0)  # the model is made before the Trainer sets its own
    config = ViTConfig(
        image_size=8, patch_size=2, num_channels=1, num_labels=10,
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
    )  # fmt: skip
    arguments = TrainingArguments(
        "output",
        num_train_epochs=options.epochs,
        # the same batch on any number of workers
        per_device_train_batch_size=max(1, 32 // int(os.environ.get("WORLD_SIZE", "1"))),
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        logging_steps=20,
        disable_tqdm=True,
        seed=0,
    )
    trainer = Trainer(
        ViTForImageClassification(config), arguments,
        train_dataset=training, eval_dataset=held_out, compute_metrics=accuracy,
    )  # fmt: skip
    found = [name for name in os.listdir("output") if name.startswith("checkpoint-")] if os.path.isdir("output") else []
    trainer.train(resume_from_checkpoint=bool(found))
    trainer.save_model("output")


if __name__ == "__main__":
    main()
