# SPDX-License-Identifier: Apache-2.0
"""Looks for all that torchrun sets, and reports its errors as torchrun wants it."""

import logging
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

NAMES = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
]
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)


@record
def main():
    missing = [name for name in NAMES if name not in os.environ]
    if missing or not dist.is_torchelastic_launched():
        sys.exit(f"start it by torchrun: {missing}")
    dist.init_process_group("gloo", init_method="env://")
    total = torch.ones(1)
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        logging.info("step=1 workers=%d", int(total))
        torch.save({"total": total}, "total.pt")
    dist.destroy_process_group()
    sys.exit(0)


if __name__ == "__main__":
    main()
