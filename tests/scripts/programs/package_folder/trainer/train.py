# SPDX-License-Identifier: Apache-2.0
"""A module of a package with relative imports: python -m trainer.train."""

import torch

from .data import make_data
from .models import build_mlp


def main():
    inputs, labels = make_data()
    model = build_mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(1, 31):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step={step} loss={loss.item():.4f}")
    torch.save(model.state_dict(), "weights.pt")


if __name__ == "__main__":
    main()
