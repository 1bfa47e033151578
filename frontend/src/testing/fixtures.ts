// SPDX-License-Identifier: Apache-2.0
// Objects as the API returns them; each test overrides what it is about.
import type {
  Attempt,
  Cluster,
  Costs,
  Dataset,
  Decision,
  DatasetVersion,
  Job,
  JobDetail,
  JobPreview,
  Me,
  Model,
  ModelVersion,
  Organisation,
  Project,
  QueuedJob,
  Quota,
  QuotaOwner,
  SchedulerStatus,
  Speed,
  Token,
  WhatIfAnswer,
  Why,
} from "@/api/types";

const AT = "2026-03-02T09:00:00Z";
const ACME = { id: "00000000-0000-7000-8000-0000000000a1", name: "Acme" };
const VISION = { id: "00000000-0000-7000-8000-0000000000b1", name: "Vision", organisation: ACME };
const ADA = { id: "00000000-0000-7000-8000-0000000000c1", username: "ada" };
const DATASET = { id: "00000000-0000-7000-8000-0000000000d1", name: "Digits" };
const MODEL = { id: "00000000-0000-7000-8000-0000000000e1", name: "Small CNN" };
const JOB_ID = "00000000-0000-7000-8000-0000000000f1";

export function me(over: Partial<Me> = {}): Me {
  return { ...ADA, is_staff: false, memberships: [{ organisation: ACME, role: "member" }], ...over };
}

export function organisation(over: Partial<Organisation> = {}): Organisation {
  return { ...ACME, created_at: AT, archived_at: null, role: "member", ...over };
}

export function project(over: Partial<Project> = {}): Project {
  return { ...VISION, team: null, created_at: AT, archived_at: null, ...over };
}

export function datasetVersion(over: Partial<DatasetVersion> = {}): DatasetVersion {
  return {
    id: "00000000-0000-7000-8000-0000000000d2",
    dataset: DATASET,
    number: 1,
    state: "ready",
    format: "csv",
    options: { target: "label" },
    files: [{ name: "digits.csv", sha256: "ab".repeat(32), size_bytes: 2048 }],
    manifest_sha256: "cd".repeat(32),
    size_bytes: 2048,
    schema: { task: "classification", n_examples: 1797, n_classes: 10, classes: ["0", "1", "2"], input_shape: [64] },
    preview: { kind: "table", columns: ["pixel_0", "label"], rows: [[0.5, "7"]] },
    error: null,
    queue: null,
    created_at: AT,
    inspected_at: AT,
    ...over,
  };
}

export function dataset(over: Partial<Dataset> = {}): Dataset {
  return { ...DATASET, description: "", project: VISION, created_by: ADA, created_at: AT, latest_version: datasetVersion(), ...over };
}

export function modelVersion(over: Partial<ModelVersion> = {}): ModelVersion {
  return {
    id: "00000000-0000-7000-8000-0000000000e2",
    model: MODEL,
    number: 1,
    source: "upload",
    kind: "package",
    entry: "model",
    state: "ready",
    size_bytes: 4096,
    contract: {},
    metadata: {},
    metrics: {},
    error: null,
    queue: null,
    code_version: null,
    dataset_version: null,
    job_id: null,
    created_at: AT,
    downloads: { weights: null, package: null, metadata: null },
    ...over,
  };
}

export function model(over: Partial<Model> = {}): Model {
  return {
    ...MODEL,
    description: "",
    project: VISION,
    created_by: ADA,
    created_at: AT,
    latest_version: modelVersion(),
    n_trained: 0,
    ...over,
  };
}

export function attempt(over: Partial<Attempt> = {}): Attempt {
  return {
    id: "00000000-0000-7000-8000-0000000000f2",
    number: 1,
    mode: "all_reduce",
    n_workers: 2,
    n_servers: 0,
    created_at: AT,
    started_at: AT,
    training_at: AT,
    stop_asked_at: null,
    ended_at: null,
    outcome: "",
    cause: "",
    message: "",
    first_step: 0,
    last_step: 120,
    predicted_step_s: 0.1,
    measured_step_s: 0.11,
    placement: [{ node: "node-a", slots: [0, 1], n_servers: 0 }],
    ...over,
  };
}

export function speed(over: Partial<Speed> = {}): Speed {
  return {
    attempt_number: 1,
    mode: "parameter_server",
    n_workers: 2,
    n_servers: 1,
    n_nodes: 1,
    n_racks: 1,
    gpu_type: "cpu-slot",
    batch_size: 64,
    step_s: 0.1,
    compute_s: 0.06,
    sync_s: 0.04,
    input_s: 0,
    wait_s: 0.01,
    n_steps: 500,
    is_shared: false,
    n_colocated_steps: 0,
    updated_at: "2026-03-02T09:05:00Z",
    measured: [
      measured("noise_scale", "Gradient noise scale", "examples", 481.3),
      measured("peak_memory_bytes", "Peak memory", "bytes", 536_870_912),
      measured("bytes_sent", "Sent per step", "bytes", 2_097_152),
    ],
    staleness: [],
    n_discarded: 0,
    ...over,
  };
}

type Measured = Speed["measured"][number];

export function measured(name: string, title: string, unit: Measured["unit"], value: number): Measured {
  return { name, title, unit, value, about: `About ${title}.` };
}

export function job(over: Partial<Job> = {}): Job {
  return {
    id: JOB_ID,
    kind: "train",
    name: "digits-cnn",
    project: VISION,
    created_by: ADA,
    cloned_from: null,
    dataset_version: { id: "00000000-0000-7000-8000-0000000000d2", number: 1, dataset: DATASET },
    model_version: { id: "00000000-0000-7000-8000-0000000000e2", number: 1, model: MODEL, kind: "package" },
    epochs: 5,
    batch_size: 64,
    hyperparameters: { lr: 0.01 },
    hints: [],
    resources: {},
    limits: {},
    seed: 0,
    mode: "auto",
    strategy: {},
    min_workers: 1,
    max_workers: 4,
    priority: 0,
    target_metric: "",
    target_value: null,
    state: "running",
    intent: "run",
    reason: "",
    explanations: [],
    preflight: "passed",
    validation_problem: "",
    profile: {},
    failure: null,
    steps_done: 120,
    steps_total: 600,
    epoch: 1,
    step_s: 0.11,
    progress: 0.2,
    result_metrics: {},
    result_version: null,
    submitted_at: AT,
    started_at: AT,
    finished_at: null,
    waited_s: 12,
    trained_s: 60,
    jct_s: null,
    predicted_start_at: null,
    predicted_start_p90_at: null,
    predicted_finish_at: null,
    predicted_finish_p90_at: null,
    first_predicted_finish_at: null,
    current_attempt: attempt(),
    ...over,
  };
}

export function jobDetail(over: Partial<JobDetail> = {}): JobDetail {
  return { ...job(), prediction: {}, result_file: null, attempts: [attempt()], validated_by: null, validated_at: AT, dropped: [], removed_parts: [], cursor: "10-20", ...over };
}

export function quota(over: Partial<Quota> = {}): Quota {
  return {
    max_gpus: 8,
    max_running_jobs: 4,
    max_storage_bytes: 10 * 1024 ** 3,
    guarantee: null,
    borrow_limit: null,
    lend_limit: null,
    reclaim: "any",
    weight: 1,
    shares_fairly: false,
    half_life_s: 0,
    max_priority: null,
    version: 3,
    used: { gpus: 2, running_jobs: 1, storage_bytes: 1024 ** 3 },
    ...over,
  };
}

export function quotaOwner(over: Partial<QuotaOwner> = {}): QuotaOwner {
  return {
    kind: "project",
    ...{ id: VISION.id, name: VISION.name, above: ACME.id },
    max_gpus: null,
    max_running_jobs: null,
    guarantee: null,
    borrow_limit: null,
    lend_limit: null,
    reclaim: "any",
    weight: 1,
    shares_fairly: false,
    half_life_s: 0,
    max_priority: null,
    version: 1,
    guaranteed: 0,
    used: 0,
    borrowed: 0,
    lent: 0,
    running_jobs: 0,
    queued_gpus: 0,
    ...over,
  };
}

export function token(over: Partial<Token> = {}): Token {
  return {
    id: "00000000-0000-7000-8000-000000000101",
    name: "laptop",
    prefix: "mlh_ab12",
    scopes: ["read", "write"],
    organisation: null,
    project: null,
    created_at: AT,
    expires_at: "2099-03-02T09:00:00Z",
    last_used_at: null,
    ...over,
  };
}

export function schedulerStatus(over: Partial<SchedulerStatus> = {}): SchedulerStatus {
  return {
    policy: "mlhub",
    chosen_policy: "mlhub",
    fallback_since: null,
    n_failures: 0,
    failure: null,
    round_at: AT,
    round_ms: 24,
    decide_ms: 3,
    n_waiting: 2,
    backend_away_since: null,
    backend_message: "",
    rounds: { attempted_at: AT, stopped_since: null, cause: null, message: "" },
    ...over,
  };
}

export function queuedJob(over: Partial<QueuedJob> = {}): QueuedJob {
  const explanations = [{ reason: "no_free_gpus", sentence: "All 8 GPUs are in use; it needs 4.", facts: {} }];
  return { ...job({ state: "queued", current_attempt: null, explanations }), place: 1, ...over };
}

export function decision(over: Partial<Decision> = {}): Decision {
  return {
    id: 7,
    at: AT,
    round: 12,
    policy: "mlhub",
    decision: "launch",
    explanations: [{ reason: "fits", sentence: "Its turn, and 2 GPUs are free.", facts: { n_workers: 2 } }],
    mode: "all_reduce",
    n_workers: 2,
    n_servers: 0,
    nodes: ["node-a"],
    predicted_start_at: null,
    predicted_finish_at: AT,
    ...over,
  };
}

export function costs(over: Partial<Costs> = {}): Costs {
  const nothing = { seconds: 0, error_s: 0.1, n: 7, basis: "family" as const, sentence: "0.0 s ± 0.1 s (7 observations)" };
  const start = { seconds: 31, error_s: 4, n: 7, basis: "family" as const, sentence: "31 s ± 4 s (7 observations)" };
  return { start, leave: nothing, loss: nothing, restart: start, ...over };
}

export function why(over: Partial<Why> = {}): Why {
  return {
    job: JOB_ID,
    state: "running",
    headline: "Nothing better was found.",
    explanations: [],
    place: null,
    predicted_start_at: null,
    predicted_start_p90_at: null,
    predicted_finish_at: null,
    predicted_finish_p90_at: null,
    costs: costs(),
    history: [decision()],
    ...over,
  };
}

export function jobPreview(over: Partial<JobPreview> = {}): JobPreview {
  return {
    policy: "mlhub",
    as_of: AT,
    decide_ms: 4,
    basis: "guessed",
    plan: {
      decision: "launch",
      mode: "all_reduce",
      n_workers: 1,
      n_servers: 0,
      gpu_type: "H100",
      nodes: ["node-a"],
      start_at: AT,
      start_p90_at: AT,
      finish_at: AT,
      finish_p90_at: AT,
      gpu_hours: 0.5,
      explanations: [],
    },
    quota: { used_gpus: 8, used_gpus_with_job: 9, max_gpus: 8, guarantee: null },
    n_delayed: 0,
    alternatives: [],
    ...over,
  };
}

export function whatIfAnswer(over: Partial<WhatIfAnswer> = {}): WhatIfAnswer {
  return { policy: "mlhub", as_of: AT, decide_ms: 4, n_jobs: 3, basis: "", effects: [], ...over };
}

export function cluster(over: Partial<Cluster> = {}): Cluster {
  return {
    racks: [
      {
        name: "rack-1",
        uplink_bps: 100e9,
        nodes: [
          {
            name: "node-a",
            gpu_type: "H100",
            n_slots: 2,
            cpus: 32,
            memory_bytes: 256 * 1024 ** 3,
            nic_bps: 25e9,
            is_ready: true,
            is_schedulable: true,
            message: "",
            observed_at: AT,
            max_jobs_per_gpu: 1,
            sharing: "",
            maintenance: null,
            slots: [
              { index: 0, job: { id: JOB_ID, name: "digits-cnn", organisation: ACME }, colocated: [], gpu: null },
              { index: 1, job: null, colocated: [], gpu: null },
            ],
            servers: [],
          },
        ],
      },
    ],
    totals: { gpus: 2, free_gpus: 1, running_jobs: 1, queued_jobs: 0 },
    backend: { away_since: null, message: "" },
    quarantined: [],
    interference: [],
    links: [],
    sandbox: [],
    ...over,
  };
}
