# SPDX-License-Identifier: Apache-2.0
"""Data-parallel by Horovod."""

import horovod.torch as hvd
import torch
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


hvd.init()
torch.manual_seed(42)
inputs, labels = make_data(seed=hvd.rank())
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * hvd.size(), momentum=0.5)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
for step in range(1, 21):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
mean = hvd.allreduce(loss.detach(), name="loss")
if hvd.rank() == 0:
    print(f"step={step} loss={mean.item():.4f} workers={hvd.size()}")
    torch.save(model.state_dict(), "horovod.pt")
