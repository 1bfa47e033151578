# SPDX-License-Identifier: Apache-2.0
"""A learning rate that falls, and a stop when the validation no longer gets better."""

import torch
from torch import nn


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


inputs, labels = make_data()
held_out, truth = make_data(seed=1)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
best, patience = float("inf"), 3
for epoch in range(1, 201):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(held_out), truth).item()
    scheduler.step(val_loss)
    print(f"epoch={epoch} | loss={loss.item():.4f} | val_loss={val_loss:.4f} | lr={scheduler.get_last_lr()[0]:g}")
    if val_loss < best - 1e-2:
        best, patience = val_loss, 3
        torch.save(model.state_dict(), "best_model.pt")
    else:
        patience -= 1
    if patience == 0:
        print("early stop")
        break
torch.save(model.state_dict(), "last_model.pt")
