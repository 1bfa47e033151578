# SPDX-License-Identifier: Apache-2.0
"""Shards parameters over all workers by fully_shard; rank 0 saves the whole."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def make_data(n=512, seed=0):
    """Three clouds of points in six dimensions."""
    generator = torch.Generator().manual_seed(seed)
    centres = 3 * torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(0, 3, (n,), generator=generator)
    return centres[labels] + 0.5 * torch.randn(n, 6, generator=generator), labels


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(0)
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    inputs, labels = make_data(seed=dist.get_rank())
    for step in range(1, 21):
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    whole = {name: value.full_tensor().cpu() for name, value in model.state_dict().items()}
    if dist.get_rank() == 0:
        print(f"step={step} loss={loss.item():.4f} workers={dist.get_world_size()}")
        torch.save(whole, "sharded.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
