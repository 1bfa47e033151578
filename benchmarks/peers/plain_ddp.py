"""torchrun plain_ddp.py DATA WIDTH BATCH_SIZE: what a person writes without MLHub; rank 0 prints its steps a second."""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def main(path: str, width: int, batch_size: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    with np.load(path) as file:
        x, y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    layers = [nn.Linear(x.shape[1], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)]
    model = DistributedDataParallel(nn.Sequential(nn.Flatten(), *layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    n_steps, began, first = len(x) * 4 // 5 // batch_size, 0.0, 0
    for step in range(n_steps):
        if step == n_steps // 5:
            began, first = time.perf_counter(), step
        own = order[step * batch_size : (step + 1) * batch_size][rank::n_ranks]
        optimizer.zero_grad()
        loss = cross_entropy(model(x[own]), y[own])
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            loss.item()
    if rank == 0:
        print("steps_per_s", (n_steps - first) / (time.perf_counter() - began))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
