# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier: one file, one process."""

import torch
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


torch.manual_seed(0)
inputs, labels = make_data()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(1, 61):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        accuracy = (model(inputs).argmax(1) == labels).float().mean().item()
        print(f"step={step} loss={loss.item():.4f} accuracy={accuracy:.4f}")
torch.save(model.state_dict(), "model.pt")
