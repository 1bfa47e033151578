# SPDX-License-Identifier: Apache-2.0
"""torchrun plain_ddp.py DATA WIDTH BATCH_SIZE: what a person writes without MLHub; trains until it is stopped."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from watched_model import build_model, build_optimizer, loss


def main(path: str, width: int, batch_size: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    with np.load(path) as file:
        x, y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    model = DistributedDataParallel(build_model({"width": width, "input_shape": x.shape[1:]}))
    optimizer = build_optimizer(model, {})
    for epoch in itertools.count():
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        for step, batch in enumerate(order.split(batch_size)):
            own = batch[rank::n_ranks]
            optimizer.zero_grad()
            found = loss(model(x[own]), y[own])
            found.backward()
            optimizer.step()
            if rank == 0 and step % 100 == 0:
                print(f"epoch {epoch}, step {step}: {found.item():.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
