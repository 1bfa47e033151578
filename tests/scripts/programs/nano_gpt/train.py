# SPDX-License-Identifier: Apache-2.0
"""A character-level transformer in one file; --name=value on the command line overrides a global of that name."""

import math
import os
import sys
from ast import literal_eval

import torch
from torch import nn
from torch.nn import functional as F

out_dir = "output"
max_iters = 500
eval_interval = 10
batch_size = 16
block_size = 32
n_embd = 32
n_head = 4
learning_rate = 3e-3
device = "cpu"
for argument in sys.argv[1:]:
    key, value = argument.removeprefix("--").split("=", 1)
    assert key in globals(), f"unknown setting {key}"
    try:
        value = literal_eval(value)
    except (SyntaxError, ValueError):
        pass
    print(f"Overriding: {key} = {value}")
    globals()[key] = value

torch.manual_seed(1337)
text = "the quick brown fox jumps over the lazy dog. " * 60
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
parts = {"train": data[: len(data) * 9 // 10], "val": data[len(data) * 9 // 10 :]}


def get_batch(part):
    source = parts[part]
    starts = torch.randint(len(source) - block_size - 1, (batch_size,))
    x = torch.stack([source[i : i + block_size] for i in starts])
    return x, torch.stack([source[i + 1 : i + block_size + 1] for i in starts])


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(len(chars), n_embd)
        self.position = nn.Embedding(block_size, n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.mlp = nn.Sequential(
            nn.LayerNorm(n_embd), nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )
        self.head = nn.Linear(n_embd, len(chars), bias=False)
        self.head.weight = self.token.weight  # tied

    def forward(self, x, targets):
        h = self.token(x) + self.position(torch.arange(x.shape[1]))
        q, k, v = (part.unflatten(2, (n_head, -1)).transpose(1, 2) for part in self.qkv(h).chunk(3, dim=2))
        h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        logits = self.head(h + self.mlp(h))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
best_val_loss = math.inf
os.makedirs(out_dir, exist_ok=True)
for iter_num in range(max_iters + 1):
    if iter_num % eval_interval == 0:
        with torch.no_grad():
            losses = {part: model(*get_batch(part)).item() for part in parts}
        print(f"iter={iter_num} train_loss={losses['train']:.4f} val_loss={losses['val']:.4f}")
        if losses["val"] < best_val_loss:
            best_val_loss = losses["val"]
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{out_dir}/ckpt.pt")
    loss = model(*get_batch("train"))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
