# SPDX-License-Identifier: Apache-2.0
"""Four small batches make one step."""

import json

import torch
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


ACCUMULATION = 4
inputs, labels = make_data()
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
step = 0
for epoch in range(4):
    for i, (x, y) in enumerate(zip(inputs.split(32), labels.split(32))):
        loss = nn.functional.cross_entropy(model(x), y) / ACCUMULATION
        loss.backward()
        if (i + 1) % ACCUMULATION == 0:
            optimizer.step()
            optimizer.zero_grad()
            step += 1
    print(f"epoch={epoch} step={step} loss={loss.item() * ACCUMULATION:.4f}")
with open("results.json", "w") as file:
    json.dump({"steps": step}, file)
torch.save(model.state_dict(), "model.bin")
