# SPDX-License-Identifier: Apache-2.0
"""The command line as a shell would use it, in a folder with a trace and two clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.__main__ import main

TRACE = "job,submitted_at_s,n_gpus,duration_s,tenant\na,0,4,100,alice\nb,10,4,50,bob\nc,20,1,30,alice\n"
NXGY = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,2,2,16,64\n"
YAML = """
racks:
  - name: r
    uplink: 40Gbit
    nodes:
      - {name: n, count: 2, slots: 2, gpu_type: v100, cpus: 16, memory: 64GiB, nic: 10Gbit}
"""
MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
    "resource_time_0,resource_time_1,resource_time_2,priority\n"
    "0,4,0,100,vgg19,16,100000,10000,1000,10,900,90,0\n1,4,10000,50,vgg19,16,50000,0,1000,10,900,90,1\n"
)
TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,4,0,100,vgg19,100,10\n1,4,10,50,vgg19,50,0\n"
)


def lay_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here lie day.csv, n2g2.csv and cluster.yaml; commands are run here."""
    monkeypatch.chdir(folder)
    for name, text in (("day.csv", TRACE), ("n2g2.csv", NXGY), ("cluster.yaml", YAML)):
        (folder / name).write_text(text)
    return folder


def run(command: str) -> int:
    """The exit status, as a shell would see it."""
    try:
        return main(command.split())
    except SystemExit as exit:
        return int(exit.code or 0)


def simulate(options: str = "", *, trace: str = "day.csv", cluster: str = "n2g2.csv", policy: str = "fifo") -> int:
    return run(f"simulate --trace {trace} --cluster {cluster} --policy {policy} {options}")
