# SPDX-License-Identifier: Apache-2.0
"""A stream of examples that worker processes share."""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, every = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.n, every):
            x = torch.randn(3, generator=torch.Generator().manual_seed(i))
            yield x, (x.sum() > 0).long()


def main():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    n_seen = 0
    for x, y in DataLoader(Stream(1000), batch_size=50, num_workers=2):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        n_seen += len(y)
    print(f"step=20 loss={loss.item():.4f} examples={n_seen}")
    torch.save(model.state_dict(), "output/stream.pt")


if __name__ == "__main__":
    main()
