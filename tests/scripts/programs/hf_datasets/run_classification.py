# SPDX-License-Identifier: Apache-2.0
"""Classifies reviews with a small BERT: options by HfArgumentParser, text by datasets, metrics as Trainer prints them.

python run_classification.py --train_file reviews.jsonl --output_dir output --num_train_epochs 4
"""

from dataclasses import dataclass, field

import numpy as np
from datasets import load_dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
)

WORDS = ["[PAD]", "good", "fine", "great", "bad", "poor", "awful"]


@dataclass
class DataArguments:
    train_file: str = field(metadata={"help": "A file of JSON lines with text and label."})
    max_length: int = field(default=4, metadata={"help": "Longest text, in words."})


def main():
    data_arguments, training_arguments = HfArgumentParser(
        (DataArguments, TrainingArguments)
    ).parse_args_into_dataclasses()
    reviews = load_dataset("json", data_files=data_arguments.train_file, split="train")

    def encode(example):
        ids = [WORDS.index(word) for word in example["text"].split()][: data_arguments.max_length]
        padding = data_arguments.max_length - len(ids)
        return {"input_ids": ids + [0] * padding, "attention_mask": [1] * len(ids) + [0] * padding}

    encoded = reviews.map(encode, remove_columns=["text"])
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=training_arguments,
        train_dataset=encoded,
        eval_dataset=encoded,
        data_collator=default_data_collator,
        compute_metrics=lambda found: {"accuracy": float((np.argmax(found.predictions, 1) == found.label_ids).mean())},
    )
    result = trainer.train()
    trainer.save_model()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
