# SPDX-License-Identifier: Apache-2.0
"""A training loop of one's own, distributed by Hugging Face Accelerate: accelerate launch train.py."""

import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="output")
    parser.add_argument("--num_epochs", type=int, default=3)
    parser.add_argument("--checkpointing_steps", default="epoch")
    args = parser.parse_args()

    accelerator = Accelerator(log_with="tensorboard", project_dir=args.output_dir, gradient_accumulation_steps=2)
    accelerator.init_trackers("regression", config=vars(args))
    set_seed(0)
    x = torch.randn(256, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [3.0]]) + 0.5
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    step = 0
    for epoch in range(args.num_epochs):
        model.train()
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            step += 1
            accelerator.log({"train_loss": loss.item(), "processes": accelerator.num_processes}, step=step)
        scheduler.step()
        mean = accelerator.gather(loss.detach()).mean().item()
        accelerator.print(f"epoch {epoch}: loss {mean:.4f}")
        if args.checkpointing_steps == "epoch":
            accelerator.save_state(os.path.join(args.output_dir, f"epoch_{epoch}"))
    accelerator.wait_for_everyone()
    accelerator.save_model(model, args.output_dir)
    accelerator.end_training()


if __name__ == "__main__":
    main()
