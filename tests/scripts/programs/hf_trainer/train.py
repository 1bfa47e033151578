# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT-2 from random weights with Hugging Face's Trainer, which reports to MLflow."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class CountingDataset(torch.utils.data.Dataset):
    """Sequences that count upwards, from a random start."""

    def __init__(self, n, length=16, vocabulary=64, seed=0):
        starts = torch.randint(0, vocabulary, (n, 1), generator=torch.Generator().manual_seed(seed))
        self.tokens = (starts + torch.arange(length)) % vocabulary

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main():
    set_seed(0)
    config = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir="./results",
        num_train_epochs=3,
        per_device_train_batch_size=16,
        learning_rate=5e-3,
        logging_steps=5,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        report_to="mlflow",
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=CountingDataset(160),
        eval_dataset=CountingDataset(32, seed=1),
    )
    trainer.train()
    trainer.save_model("./results/final")


if __name__ == "__main__":
    main()
