# SPDX-License-Identifier: Apache-2.0
"""What is believable about the answers made from the schema: a moment, times around it, names, a cluster.

Every page is drawn at `NOW`, so that pictures of it stay the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MINUTE_S, HOUR_S = 60, 3600
ORGANISATIONS = ("vision", "language")
JOBS = ("digits-cnn", "bert-large-squad", "resnet50-imagenet", "unet-cells", "gpt2-small-wiki", "vit-b16-flowers")
# by the name of a field: seconds from NOW, and by how much each further entry of a list is apart
TIMES: tuple[tuple[str, int, int], ...] = (
    (r"first_predicted_finish", 52 * MINUTE_S, 0),
    (r"predicted_start_p90", 31 * MINUTE_S, 14 * MINUTE_S),
    (r"predicted_start|start_at", 12 * MINUTE_S, 9 * MINUTE_S),
    (r"finish_p90", 96 * MINUTE_S, 23 * MINUTE_S),
    (r"predicted_finish|finish_at", 64 * MINUTE_S, 17 * MINUTE_S),
    (r"start_p90", 31 * MINUTE_S, 14 * MINUTE_S),
    (r"expires|until|ends_|drain_by|next_", 30 * HOUR_S, 5 * HOUR_S),
    (r"as_of|observed|reported|checked|heard", -4, -3),
    (r"finished|ended", -18 * MINUTE_S, -41 * MINUTE_S),
    (r"training_at", -93 * MINUTE_S, 0),
    (r"started", -94 * MINUTE_S, -37 * MINUTE_S),
    (r"submitted|created", -118 * MINUTE_S, -38 * MINUTE_S),
)
OTHER_TIME = (-3 * HOUR_S, -29 * MINUTE_S)
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"gpu_type", ("A100", "H100", "V100")),
    (r"^node$|node_name", ("node-a1", "node-a2", "node-b1", "node-b2")),
    (r"policy", ("pollux", "fair-share")),
    (r"^(tag|tags|aliases|alias)$", ("baseline", "thesis", "nightly")),
    (r"user_agent", ("Firefox on Linux", "Chrome on macOS")),
    (r"^mode$", ("all_reduce", "parameter_server")),
    (r"^username$", ("ada", "grace", "alan")),
    (r"^by$|actor|owner", ("ada", "grace", "alan")),
)


def moment(name: str, at: int) -> str:
    """The time of a field in the `at`-th entry of a list."""
    first, apart = next(((f, a) for pattern, f, a in TIMES if re.search(pattern, name)), OTHER_TIME)
    return iso(NOW + timedelta(seconds=first + apart * at))


def word(name: str, at: int) -> str | None:
    options = next((options for pattern, options in WORDS if re.search(pattern, name)), None)
    if options is None:
        return None
    rounds = at // len(options)
    return options[at % len(options)] + (f"-{rounds + 1}" if rounds else "")


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def uuid(at: int) -> str:
    return f"00000000-0000-7000-8000-0000000000{0xF1 + at:02x}"


def curve(n_points: int, **fixed: Any) -> list[dict[str, Any]]:
    """Points of a loss that falls and scatters, from the start of training to now."""
    begin = NOW - timedelta(minutes=93)
    return [
        {
            "step": 20 * (i + 1), "epoch": round((i + 1) / 20, 2), "value": loss(i), **fixed,
            "at": iso(begin + timedelta(seconds=93 * MINUTE_S * (i + 1) / n_points)),
        }
        for i in range(n_points)
    ]  # fmt: skip


def loss(i: int, tail: float = 0.21, fall: float = 2.1) -> float:
    return round(tail + fall / math.sqrt(1 + i / 3) + 0.05 * math.sin(12.9898 * i) * math.sin(4.1 * i), 4)


def listed_id(at: int) -> str:
    """The id of the `at`-th entry of a list."""
    return "00000000-0000-7000-8000-0000000000" + f"{0xF1 + at:02x}"[-2:]


def compared_jobs(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Jobs of a search: learning rates over four decades, and what they reached by these; the first has more."""
    return [{**job, **_tried(at, len(jobs))} for at, job in enumerate(jobs)]


def _tried(at: int, of: int) -> dict[str, Any]:
    place = (at * 7 % of) / max(1, of - 1)
    reached = 0.18 + 0.9 * (place - 0.6) ** 2 + 0.02 * (at % 3)
    lr, optimizer = float(f"{10 ** (-5 + 4 * place):.3g}"), ("sgd", "adamw", "lion")[at % 3]
    results = {"eval/loss": round(reached, 4), "eval/accuracy": round(1 - reached / 2, 4)}
    return {
        "hyperparameters": {"lr": lr, "optimizer": optimizer, "width": 64 << at % 4},
        "result_metrics": {} if at == of - 1 else results,
        "epochs": 10,
        "batch_size": (64, 256)[at % 2],
        "seed": at,
        "resources": {},
        "min_workers": 1,
        "max_workers": 4,
        "priority": 0,
        "mode": "all_reduce",
        "gpu_hours": round(2 + 3 * place, 2),
        "trained_s": round(3600 + 5000 * place),
    }


def trials(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Trials of a study: each third one reached the last rung."""
    for at, trial in enumerate(made):
        tried = _tried(at, len(made))["hyperparameters"]
        reached = 1 - 0.9 * (at / max(1, len(made)) - 0.6) ** 2
        rungs = range(1 + at % 3)
        values = [
            {"epochs": 3**rung, "step": 10 * 3**rung, "value": round(reached - 0.2 / (1 + rung), 4)} for rung in rungs
        ]
        trial.update(
            parameters={"lr": tried["lr"], "optimizer": ("sgd", "adamw")[at % 2], "hidden_units": tried["width"]},
            results=values,
        )
    return made


def dataset_caches(made: dict[str, Any], *, names: Sequence[str], n_nodes: int) -> dict[str, Any]:
    """names: of the nodes that are listed, those with most of it first."""
    nodes = [
        {"name": name, "cached_bytes": made["size_bytes"] * max(3, 24 - at) // 24, "used_at": _ago(7 + 190 * at)}
        for at, name in enumerate(names)
    ]
    needed = 14 * made["size_bytes"]
    starts = {"n_starts": 14, "inputs_bytes": needed, "found_bytes": needed * 9 // 14}
    return {**made, **starts, "has_node_caches": True, "nodes": nodes, "n_nodes": n_nodes}


def inputs_on_nodes(names: Sequence[str]) -> list[dict[str, Any]]:
    """Some found all, some fetched all, some a part."""
    whole = 3 * 2**30
    inputs = []
    for at, name in enumerate(names):
        fetched = (0, whole, whole // 4)[at % 3]
        took = {"inputs_bytes": whole, "found_bytes": whole - fetched, "fetched_bytes": fetched}
        inputs.append({"node": name, **took, "fetch_s": round(fetched / 4.1e8 * (1 + at % 7 / 9), 1)})
    return inputs


def finished_replay(replay: dict[str, Any]) -> dict[str, Any]:
    """It has succeeded: each policy's jobs took somewhat longer than those of the one before."""

    def curve(factor: float) -> list[list[float]]:
        return [[round(factor * 60 * 1.45**n, 1), (n + 1) / 20] for n in range(20)]

    result = replay["result"]
    for at, policy in enumerate(result["policies"]):
        policy["figures"] = {**(policy["figures"] or result["policies"][0]["figures"]), "curve": curve(1 + 0.4 * at)}
        policy["label"] = ("mlhub", "srtf", "fair-share")[at % 3]
    result["real"] = {**result["real"], "curve": curve(1.1)}
    return {**replay, "state": "succeeded", "progress": None, "error": ""}


def compared_curves(n_curves: int = 4, n_points: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "job": listed_id(j), "x": [20.0 * (i + 1) for i in range(n_points)],
            "y": [loss(i, 0.18 + 0.06 * j, 1.6 + 0.5 * j) for i in range(n_points)],
        }
        for j in range(n_curves)
    ]  # fmt: skip


def compared_runs(n_runs: int = 5) -> dict[str, list[dict[str, Any]]]:
    """Runs from elsewhere with parameters and newest values, and the curves of one of their metrics."""
    names = ("calm-lake-12", "notebook-3", "sweep-7", "sweep-8", "laptop-baseline")
    tried = [_tried(at, n_runs + 1) for at in range(n_runs)]
    given = {key: [str(one["hyperparameters"][key]) for one in tried] for key in ("lr", "optimizer", "width")}
    reached = {key: [one["result_metrics"].get(key) for one in tried] for key in ("eval/loss", "eval/accuracy")}
    of_jobs = compared_curves(n_runs)
    return {
        "runs": [
            {"id": uuid(at), "name": name, "status": "RUNNING" if at == 1 else "FINISHED", "project": "diagnosis"}
            for at, name in enumerate(names[:n_runs])
        ],
        "params": [{"key": key, "n_runs": n_runs, "values": values} for key, values in given.items()],
        "metrics": [{"key": key, "n_runs": n_runs, "values": values} for key, values in reached.items()],
        "curves": [{"run": uuid(at), "x": curve["x"], "y": curve["y"]} for at, curve in enumerate(of_jobs)],
    }


def _slot_job(at: int) -> dict[str, Any] | None:
    """Every fourth GPU is free; of jobs of another organisation one does not know the name."""
    if at % 4 == 3:
        return None
    if at % 7 == 5:
        return {"id": None, "name": None, "organisation": None, "slowdown": None}
    number = (at // 2) % len(JOBS)
    bases = (("measured", 1.38, "gpu"), ("predicted", 1.12, "node"), ("alone", 1.0, ""))
    basis, ratio, resource = bases[number % 3]
    slowdown = None if number % 4 == 3 else {"ratio": ratio, "basis": basis, "resource": resource}
    organisation = {"id": uuid(number % 2), "name": ORGANISATIONS[number % 2], "slug": ORGANISATIONS[number % 2]}
    return {"id": uuid(number), "name": JOBS[number], "organisation": organisation, "slowdown": slowdown}


def slots(node: int, n_gpus: int, with_gpu: dict[str, Any]) -> list[dict[str, Any]]:
    """The GPUs of a node, as full as the jobs on them."""
    made = []
    for index in range(n_gpus):
        job = _slot_job(node * n_gpus + index)
        use = 0.0 if job is None else round(0.55 + 0.4 * ((node + index) % 5) / 5, 2)
        memory = int(80e9 * (0.02 if job is None else 0.3 + 0.6 * ((index + node) % 4) / 4))
        measured = {"utilisation": use, "memory_used_bytes": memory, "memory_total_bytes": int(80e9)}
        gpu = {**with_gpu, **measured, "index": index, "temperature_c": 34 + int(45 * use), "problem": ""}
        known = {name: value for name, value in gpu.items() if name in with_gpu}
        made.append({"index": index, "job": job, "colocated": [], "gpu": known})
    return made


def racks(racks_made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With names as racks and nodes have them."""
    for i, rack in enumerate(racks_made):
        rack["name"] = f"rack-{i + 1}"
        for j, node in enumerate(rack["nodes"]):
            node.update(name=f"node-{'abc'[i % 3]}{j + 1}", gpu_type=("A100", "A100", "H100")[i % 3])
            if (i, j) == (2, 1):
                node["is_schedulable"] = False
    return racks_made


def links(racks_made: list[dict[str, Any]]) -> dict[str, Any]:
    """What gangs send over links, and the traffic of the job that is on the most nodes. The last node carries none."""
    nodes = [node["name"] for rack in racks_made for node in rack["nodes"]]
    named = [("nic", name) for name in nodes[:-1]] + [("uplink", rack["name"]) for rack in racks_made]
    loads = [
        {"kind": kind, "name": name, "capacity_bps": 25e9 if kind == "nic" else 100e9, "n_gangs": 1 + at % 2,
         "bps": None if at % 5 == 3 else (2.0 + 5 * (at % 4)) * 1e9, "n_unknown": int(at % 5 == 3)}
        for at, (kind, name) in enumerate(named)
    ]  # fmt: skip
    on = {
        job["id"]: [node["name"] for rack in racks_made for node in rack["nodes"] if job in _holders(node)]
        for rack in racks_made for node in rack["nodes"] for job in _holders(node)
    }  # fmt: skip
    most = max(on, key=lambda job: len(on[job]), default=None)
    if most is None or len(on[most]) < 2:
        return {"link_loads": loads, "traffic": []}
    racks_of = [rack["name"] for rack in racks_made if {node["name"] for node in rack["nodes"]} & set(on[most])]
    crossed = [("nic", name) for name in on[most]] + [("uplink", name) for name in racks_of if len(racks_of) > 1]
    flows = [{"kind": kind, "name": name, "bytes_per_step": 48e6, "bps": 2e9} for kind, name in crossed]
    traffic = {"job": most, "mode": "all_reduce", "nodes": on[most], "server_nodes": [], "step_s": 0.192,
               "is_counted": True, "measured_at": _ago(0.2), "links": flows}  # fmt: skip
    return {"link_loads": loads, "traffic": [traffic]}


def _holders(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [slot["job"] for slot in node["slots"] if slot["job"] and slot["job"]["id"]]


def attempts(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Two attempts of a job that trains: one was preempted, one goes on; each a change of `whole`."""
    nodes = [
        {"node": "node-a1", "slots": [0, 1, 2, 3], "n_servers": 0},
        {"node": "node-a2", "slots": [0, 1], "n_servers": 0},
    ]
    usual = {
        **whole,
        "mode": "all_reduce",
        "n_servers": 0,
        "cause": "",
        "message": "",
        "outcome": "",
        "stop_asked_at": None,
    }
    first = {
        **usual, "id": uuid(11), "number": 1, "n_workers": 4, "created_at": _ago(104), "started_at": _ago(103),
        "training_at": _ago(101), "stop_asked_at": _ago(66), "ended_at": _ago(64), "outcome": "preempted",
        "message": "It made room for bert-large-squad.", "first_step": 0, "last_step": 640, "placement": nodes[:1],
    }  # fmt: skip
    second = {
        **usual, "id": uuid(12), "number": 2, "n_workers": 6, "created_at": _ago(52), "started_at": _ago(51),
        "training_at": _ago(49), "ended_at": None, "first_step": 640, "last_step": 1600, "placement": nodes,
    }  # fmt: skip
    return [{name: value for name, value in one.items() if name in whole} for one in (first, second)]


def _ago(minutes: float) -> str:
    return iso(NOW - timedelta(minutes=minutes))


SETTINGS = [
    {"group": "features", "name": "MLHUB_BACKEND", "kind": "text", "value": "agents"},
    {"group": "features", "name": "MLHUB_NOTEBOOK_ORIGIN", "kind": "text", "value": "https://*.notebooks.example.org"},
    {"group": "features", "name": "MLHUB_JOBS_PER_GPU", "kind": "number", "value": "2"},
    {"group": "features", "name": "MLHUB_DATA_FOLDERS", "kind": "text", "value": "/nfs/datasets, /nfs/models"},
    {"group": "features", "name": "MLHUB_DATA_ALLOW", "kind": "text", "value": ""},
    {"group": "features", "name": "MLHUB_EMAIL_URL", "kind": "switch", "value": "on"},
    {"group": "features", "name": "MLHUB_ALLOW_WEAK_SANDBOX", "kind": "switch", "value": "off"},
]
# name, state, time of its last report, address, problem; the first is the platform's own
AGENTS = [
    {"name": name, "is_own": place == 0, "state": state, "token_made_at": "2026-11-17T12:00:00Z", "made_by": "root",
     "seen_at": seen_at, "address": address, "version": "0.2.0" if address else "", "problem": problem}
    for place, (name, state, seen_at, address, problem) in enumerate((
        ("node-a1", "connected", "2026-11-20T11:59:58Z", "10.0.0.1", ""),
        ("node-b1", "silent", "2026-11-20T11:59:25Z", "10.0.0.2", ""),
        ("node-b2", "closed", "2026-11-20T11:59:56Z", "10.0.0.3", "The folder of checkpoints /srv is not there."),
        ("node-c1", "expected", None, "", ""),
    ))
]  # fmt: skip
TREE = (
    ("vision", "organisation", None, 16, 18, 2, 0, 6),
    ("perception", "team", 0, 16, 18, 2, 0, 6),
    ("segmentation", "team", 1, 8, 10, 2, 0, 4),
    ("unet-cells", "project", 2, 4, 4, 0, 0, 2),
    ("detection", "team", 1, 8, 8, 0, 0, 2),
    ("language", "organisation", None, 12, 7, 0, 4, 0),
)


def quota_owners(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """A tree of four levels, each owner a change of `whole`; the first team has limits of all kinds."""
    limited = {
        "gpus_by_type": {"A100": 16, "T4": 4},
        "used_by_type": {"A100": 15, "T4": 3},
        "max_running_jobs": 20,
        "running_jobs": 9,
        "max_waiting_jobs": 100,
        "waiting_jobs": 6,
        "max_storage_bytes": 2 * 2**40,
        "storage_bytes": 700 * 2**30,
    }
    counted = ("max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs", "max_storage_bytes")
    free = {"gpus_by_type": {}, **dict.fromkeys(counted)}
    made = []
    for at, (name, kind, above, guaranteed, used, borrowed, lent, queued) in enumerate(TREE):
        numbers = {"guaranteed": guaranteed, "used": used, "borrowed": borrowed, "lent": lent, "queued_gpus": queued}
        place = {
            "id": uuid(at),
            "name": name,
            "above": None if above is None else uuid(above),
            "kind": kind,
        }
        limits = limited if at == 1 else free
        lists = {"boosts": [], "overcommitted": [], "budgets": whole["budgets"][:1] if at == 0 else []}
        lists["boosts_to_come"] = [_reservation()] if at == 1 else []
        made.append({**whole, **place, **numbers, **limits, **lists})
    return made


def _reservation() -> dict[str, Any]:
    """GPUs for a course on Monday; NOW is a Friday."""
    begins = NOW + timedelta(days=2, hours=20)
    amounts = {"extra_guarantee": 2, "extra_guarantee_by_type": {}, "extra_max_gpus": 0, "extra_gpus_by_type": {}}
    times = {"starts_at": iso(begins), "ends_at": iso(begins + timedelta(hours=10)), "created_at": iso(NOW)}
    made = {"id": f"{uuid(0)[:-2]}d0", "is_in_effect": False, "reason": "a course", "created_by": "ada"}
    return {**made, **amounts, **times}


def teams(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The teams of that tree, each a change of `whole`."""
    found = []
    for at, (name, kind, above, *_) in enumerate(TREE):
        if kind == "team":
            is_top = above is None or TREE[above][1] != "team"
            parent = None if is_top else {"id": uuid(above or 0), "name": TREE[above or 0][0]}
            found.append({**whole, "id": uuid(at), "name": name, "parent": parent})
    return found
