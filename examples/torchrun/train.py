# SPDX-License-Identifier: Apache-2.0
"""Classifies the pictures of a zip, data-parallel: torchrun --nproc-per-node 2 train.py --data digits.zip

Nothing here knows MLHub, except where the dataset and the output folder are looked for.
"""

import argparse
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def pictures(path: str) -> tuple[Tensor, Tensor]:
    """The pictures (n, 1, 8, 8), 0 to 1, and their classes (n,): the names of their folders."""
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".png"))
        arrays = [np.asarray(Image.open(io.BytesIO(archive.read(name))).convert("L")) for name in names]
    images = torch.from_numpy(np.stack(arrays)).float().unsqueeze(1) / 255
    return images, torch.tensor([int(name.split("/")[0]) for name in names])


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 16, 10),
    )  # fmt: skip


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=os.environ.get("MLHUB_DATASET", "digits.zip"))
    parser.add_argument("--output", default="output")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.05)
    options = parser.parse_args()

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(0)
    images, labels = (part.to(device) for part in pictures(options.data))
    held_out = torch.arange(len(labels), device=device) % 5 == 0

    model = DistributedDataParallel(network().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    saved, first = Path(options.output) / "checkpoint.pt", 1
    if saved.exists():  # after a preemption: on another node, or with other workers
        state = torch.load(saved, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1

    training = TensorDataset(images[~held_out], labels[~held_out])
    sampler = DistributedSampler(training)
    loader = DataLoader(training, batch_size=options.batch_size // dist.get_world_size(), sampler=sampler)
    for epoch in range(first, options.epochs + 1):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            reached = accuracy(model.module, images[held_out], labels[held_out])
            print(f"epoch={epoch} loss={loss.item():.4f} accuracy={reached:.4f}")
            saved.parent.mkdir(exist_ok=True)
            state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            torch.save(state, saved.with_suffix(".new"))
            saved.with_suffix(".new").replace(saved)  # complete, or the former one
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
