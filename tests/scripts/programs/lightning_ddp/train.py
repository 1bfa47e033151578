# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier with Lightning: python train.py --num_nodes 2, started on each node by torchrun."""

import argparse

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, width=16, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        output = self.net(x)
        self.log("val_loss", nn.functional.cross_entropy(output, y), sync_dist=True)
        self.log("val_acc", (output.argmax(1) == y).float().mean(), prog_bar=True, sync_dist=True)
        self.log("world_size", float(self.trainer.world_size), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def clouds(n, seed):
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x.sum(1) > 0).long())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_nodes", type=int, default=1)
    parser.add_argument("--max_epochs", type=int, default=3)
    options = parser.parse_args()
    L.seed_everything(0)
    trainer = L.Trainer(
        max_epochs=options.max_epochs,
        accelerator="cpu",
        devices=1,
        num_nodes=options.num_nodes,
        strategy="ddp",
        log_every_n_steps=5,
    )
    trainer.fit(
        Classifier(),
        DataLoader(clouds(512, 0), batch_size=16, shuffle=True),
        DataLoader(clouds(64, 1), batch_size=16),
    )


if __name__ == "__main__":
    main()
