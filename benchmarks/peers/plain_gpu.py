# SPDX-License-Identifier: Apache-2.0
"""The training of benchmarks.gpu in plain torch, on a GPU: prints how many steps it makes in a second.

python -m benchmarks.peers.plain_gpu DATA.npz STEPS WIDTH BATCH_SIZE
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from torch import nn


def main(path: str, n_steps: int, width: int, batch_size: int) -> None:
    with np.load(path) as arrays:
        x, y = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"].astype(np.int64))
    device = torch.device("cuda")
    layers = [nn.Linear(x.shape[1], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    order, began = torch.randperm(len(x)), 0.0
    for step in range(-n_steps // 5, n_steps):
        if step == 0:
            torch.cuda.synchronize()
            began = time.perf_counter()
        chosen = order.roll(-step * batch_size)[:batch_size]
        inputs, targets = (v[chosen].pin_memory().to(device, non_blocking=True) for v in (x, y))
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(n_steps / (time.perf_counter() - began))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
