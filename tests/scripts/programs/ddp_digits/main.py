# SPDX-License-Identifier: Apache-2.0
"""Classifies small pictures of digits, data-parallel: torchrun --nproc-per-node 2 main.py."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def digits(n):
    """Ten fixed patterns of 8 by 8 pixels, each with noise."""
    generator = torch.Generator().manual_seed(0)
    patterns = (torch.rand(10, 1, 8, 8, generator=generator) > 0.5).float()
    labels = torch.arange(n) % 10
    return TensorDataset(patterns[labels] + 0.3 * torch.randn(n, 1, 8, 8, generator=generator), labels)


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    dataset = digits(640)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(Net().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, device=device)
        for images, labels in loader:
            output = model(images.to(device))
            loss = nn.functional.cross_entropy(output, labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([(output.argmax(1) == labels.to(device)).sum().item(), len(labels)], device=device)
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch={epoch + 1} loss={loss.item():.4f} accuracy={(total[0] / total[1]).item():.4f}")
    if rank == 0:
        torch.save(model.module.state_dict(), "mnist_cnn.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
