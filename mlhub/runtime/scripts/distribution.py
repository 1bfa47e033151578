# SPDX-License-Identifier: Apache-2.0
"""Whether a script could train together with others, by its source: one that could not gets one worker.

The source is searched for words, nothing is run. A word that means nothing costs GPUs at worst, a missing one would
cost speed, so everything counts by which a program may learn that it is not alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 32 * 2**20  # of source; a larger package is taken for distributed
SIGNS = re.compile(
    rb"\b(torch\.distributed|distributed|init_process_group|DataParallel|DistributedDataParallel|FSDP|DTensor"
    rb"|RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR|MLHUB_SERVER_ADDRESSES|TF_CONFIG|DMLC_\w+|world_size|n_workers|local_rank"
    rb"|accelerate|lightning|pytorch_lightning|transformers|trl|deepspeed|colossalai|fairscale|composer|fastai|ignite"
    rb"|horovod|hvd|byteps|mxnet|kvstore|tensorflow|jax|mpi4py|petastorm)\b"
)
MLHUB, OF_MLHUB = b"mlhub.runtime", re.compile(rb"\b(kv|tables|job|together)\b")  # that scripts import from it
ALONE = (
    "Nothing in its code forms a process group or asks for its rank, so jobs train it on one worker; "
    "give max_workers for more."
)


def may_be_distributed(code: Path) -> bool:
    """Whether anything in the package's Python code says that it can train on several workers. True in doubt."""
    left = MAX_BYTES
    for path in _sources(code):
        left -= path.stat().st_size
        if left < 0:
            return True
        content = path.read_bytes()
        if SIGNS.search(content) or (MLHUB in content and OF_MLHUB.search(content)):
            return True
    return False


def _sources(code: Path) -> Iterator[Path]:
    """Python, and what may start or configure it."""
    for path in sorted(code.rglob("*")):
        if path.suffix in {".py", ".pyx", ".ipynb", ".sh", ".yaml", ".yml", ".toml", ".cfg"} and path.is_file():
            yield path
