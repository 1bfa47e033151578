# SPDX-License-Identifier: Apache-2.0
"""Reports to TensorBoard alone, and does not close its writer."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


writer = SummaryWriter("runs/first")
inputs, labels = make_data()
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 61):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("Loss/train set", loss, step)
    writer.add_scalar("lr", 0.1, step)
writer.add_histogram("weights", model.weight, step)
torch.save(model.state_dict(), "model_final.pt")
