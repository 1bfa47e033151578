# SPDX-License-Identifier: Apache-2.0
"""Reads its data in worker processes of a DataLoader."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        x = torch.randn(4, generator=torch.Generator().manual_seed(i))
        return x, x.sum() + 1


if __name__ == "__main__":
    loader = DataLoader(Points(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(1, 4):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch={epoch} loss={loss.item():.5f}")
    torch.save(model, "whole_model.pth")
    torch.save(model.state_dict(), "linear.pth")
