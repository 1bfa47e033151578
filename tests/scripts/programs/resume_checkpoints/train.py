# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint every epoch and goes on from the newest one."""

import glob
import os
import re

import torch
from torch import nn

FOLDER = "output/checkpoints"
os.makedirs(FOLDER, exist_ok=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
found = sorted(glob.glob(f"{FOLDER}/epoch_*.pt"), key=lambda path: int(re.findall(r"\d+", path)[-1]))
start = 0
if found:
    state = torch.load(found[-1])
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    start = state["epoch"]
print("starts after epoch", start)
x = torch.randn(128, 4, generator=torch.Generator().manual_seed(0))
for epoch in range(start + 1, 6):
    for _ in range(20):
        loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, f"{FOLDER}/epoch_{epoch}.pt")
    print(f"epoch={epoch} loss={loss.item():.5f}")
