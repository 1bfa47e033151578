# SPDX-License-Identifier: Apache-2.0
"""Regression whose settings are options of the command line."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--hidden-size", type=int, default=4)
parser.add_argument("--output-dir", default="output")
parser.add_argument("--verbose", action="store_true")
args = parser.parse_args()
print(args)

torch.manual_seed(0)
x = torch.linspace(-2, 2, 200)[:, None]
y = torch.sin(2 * x)
model = nn.Sequential(nn.Linear(1, args.hidden_size), nn.Tanh(), nn.Linear(args.hidden_size, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    for _ in range(20):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if args.verbose:
        print(f"epoch={epoch + 1}, mse={loss.item():.5f}, hidden={args.hidden_size}")
torch.save({"model_state_dict": model.state_dict(), "epoch": args.epochs}, f"{args.output_dir}/regressor.pth")
