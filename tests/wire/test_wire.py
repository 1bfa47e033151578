# SPDX-License-Identifier: Apache-2.0
"""What travels between platform and pods survives the journey, and anything else is refused with its reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.wire import report
from mlhub.wire.exits import Cause, ExitCode, cause_of
from mlhub.wire.launch import (
    AttemptId,
    DatasetSpec,
    Input,
    LaunchSpec,
    ModelSpec,
    PodPlacement,
    PodRole,
    PodSpec,
    Resources,
    SyncMode,
    TrainingSpec,
)

WORKER = st.builds(
    PodPlacement,
    role=st.just(PodRole.WORKER),
    index=st.integers(0, 7),
    node=st.text(min_size=1, max_size=8),
    resources=st.builds(Resources, gpus=st.integers(0, 8), cpus=st.floats(0.1, 64), memory_bytes=st.integers(0, 2**40)),
    slots=st.lists(st.integers(0, 7), max_size=3).map(tuple),
)
SPEC = st.builds(
    LaunchSpec,
    attempt_id=st.uuids().map(lambda u: AttemptId(str(u))),
    job_id=st.uuids().map(str),
    attempt_number=st.integers(1, 99),
    mode=st.sampled_from(SyncMode),
    pods=st.lists(WORKER, min_size=1, max_size=4).map(tuple),
    inputs=st.lists(st.builds(Input, name=st.text(), sha256=st.text(), size_bytes=st.integers(0), uri=st.text())).map(
        tuple
    ),
    dataset=st.none() | st.just(DatasetSpec("npz", ("data",), {"n_classes": 10})),
    model=st.just(ModelSpec("package", "model", package="code")),
    training=st.builds(
        TrainingSpec,
        epochs=st.integers(1, 9),
        batch_size=st.integers(1, 512),
        seed=st.integers(),
        strategy=st.sampled_from([{}, {"name": "ssp", "staleness": 3}]),
    ),
    api_url=st.text(),
    token=st.text(),
    gang_secret=st.text(),
    checkpoint_uri=st.text(),
    labels=st.dictionaries(st.text(), st.text(), max_size=2),
    start_timeout_s=st.floats(1, 1000),
    version=st.just(1),
)


@pytest.mark.slow
@given(SPEC)
def test_a_launch_specification_survives_json(spec: LaunchSpec) -> None:
    assert LaunchSpec.from_json(spec.to_json()) == spec


@given(SPEC)
def test_a_pod_gets_its_share_and_no_secret(spec: LaunchSpec) -> None:
    pod = PodSpec.of(spec, spec.pods[0], master_address="127.0.0.1:1", server_addresses=("127.0.0.1:2",))
    assert PodSpec.from_json(pod.to_json()) == pod
    assert pod.n_workers + pod.n_servers == len(spec.pods)
    assert not {"token", "gang_secret"} & set(json.loads(pod.to_json()))


@pytest.mark.parametrize("text", ["[]", "{}", '{"version": 2}', '{"version": 1}'])
def test_what_is_no_specification_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="specification"):
        LaunchSpec.from_json(text)


@pytest.mark.parametrize(
    "sent",
    [
        report.MetricReport(step=3, epoch=0.5, at=1.0, values={"train/loss": 0.25}),
        report.ProgressReport(1.0, 5, 10, 0.5, 2, 1, 64, 0.1, 0.06, 0.03, 0.01),
        report.CheckpointReport(1.0, 5, "step-5", 100, 0.2, 0.01),
        report.PhaseReport(1.0, "training", 4.2, {"resumed_step": 3}),
        report.FailureReport(1.0, Cause.USER_CODE, "it broke", "Traceback ..."),
        report.ResultReport(1.0, 10, {"eval/accuracy": 0.9}, {"model.safetensors": "ab"}),
    ],
)
def test_a_report_survives_json(sent: report.Report) -> None:
    assert report.from_dict(json.loads(json.dumps(report.to_dict(sent)))) == sent


@pytest.mark.parametrize("raw", [{}, {"type": "gossip"}, {"type": "phase", "colour": "red"}, {"type": "phase"}])
def test_what_is_no_report_is_refused(raw: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="report"):
        report.from_dict(raw)


def test_every_exit_code_has_its_cause() -> None:
    assert cause_of(ExitCode.DONE) is None
    assert cause_of(ExitCode.PREEMPTED) is Cause.PREEMPTED
    assert {cause_of(code) for code in ExitCode if code} <= set(Cause) - {Cause.UNKNOWN}
    assert cause_of(-9) is Cause.KILLED
    assert cause_of(137) is Cause.KILLED
    assert cause_of(3) is Cause.UNKNOWN
