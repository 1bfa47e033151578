# SPDX-License-Identifier: Apache-2.0
"""Prints its metrics as lines of JSON, and keeps a table that it leaves open."""

import csv
import json

import torch
from safetensors.torch import save_file
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


inputs, labels = make_data()
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
table = csv.writer(open("history.csv", "w"))
for step in range(1, 31):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    table.writerow([step, loss.item()])
    print(json.dumps({"step": step, "loss": round(loss.item(), 5), "phase": "train"}))
save_file(model.state_dict(), "model.safetensors")
