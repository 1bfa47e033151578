// SPDX-License-Identifier: Apache-2.0
// Objects as the API returns them; each test overrides what it is about.
import type {
  Attempt,
  Dataset,
  DatasetVersion,
  Job,
  JobDetail,
  Me,
  Model,
  ModelVersionDetail,
  Organisation,
  Project,
  Run,
  SignInMethods,
  Speed,
  Token,
} from "@/api/types";

export const AT = "2026-03-02T09:00:00Z";
export const ACME = { id: "00000000-0000-7000-8000-0000000000a1", name: "Acme" };
export const VISION = { id: "00000000-0000-7000-8000-0000000000b1", name: "Vision", organisation: ACME };
const ADA = { id: "00000000-0000-7000-8000-0000000000c1", username: "ada" };
const DATASET = { id: "00000000-0000-7000-8000-0000000000d1", name: "Digits" };
const MODEL = { id: "00000000-0000-7000-8000-0000000000e1", name: "Small CNN" };
export const JOB_ID = "00000000-0000-7000-8000-0000000000f1";

export function me(over: Partial<Me> = {}): Me {
  return { ...ADA, is_staff: false, needs_second_factor: false, impersonation: null, memberships: [{ id: "m", organisation: ACME, role: "member" }], project_roles: [], stream_cursor: "40-1700", ...over };
}

export function signInMethods(over: Partial<SignInMethods> = {}): SignInMethods {
  return { single_sign_on: null, has_passwords: true, has_passkeys: true, passkey_origin: window.location.origin, sends_password_links: true, refusal: null, ...over };
}

export function organisation(over: Partial<Organisation> = {}): Organisation {
  return { ...ACME, created_at: AT, archived_at: null, role: "member", ...over };
}

export function project(over: Partial<Project> = {}): Project {
  return { ...VISION, team: null, is_own: false, created_at: AT, archived_at: null, ...over };
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
    n_files: 1,
    source: null,
    manifest_sha256: "cd".repeat(32),
    size_bytes: 2048,
    schema: { task: "classification", n_examples: 1797, n_classes: 10, classes: ["0", "1", "2"], input_shape: [64] },
    builtin_models: [],
    preview: { kind: "table", columns: ["pixel_0", "label"], rows: [[0.5, "7"]] },
    statistics: {},
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

export function modelVersion(over: Partial<ModelVersionDetail> = {}): ModelVersionDetail {
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
    environment: null,
    image: "",
    queue: null,
    code_version: null,
    trained_on_name: "",
    dataset_version: null,
    job_id: null,
    created_at: AT,
    tags: [],
    notes: "",
    aliases: [],
    downloads: { weights: null, package: null, metadata: null, export: null },
    not_exportable: null,
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
    n_logged: 0,
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
    batch_size: null,
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
    datasets: [],
    model_version: { id: "00000000-0000-7000-8000-0000000000e2", number: 1, model: MODEL, kind: "package" },
    epochs: 5,
    batch_size: 64,
    hyperparameters: { lr: 0.01 },
    hints: [],
    resources: {},
    limits: {},
    environment: {},
    secrets: [],
    image: "",
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
    pause_reason: "",
    validation_problem: "",
    profile: {},
    failure: null,
    steps_done: 120,
    steps_total: 600,
    step_unit: "step",
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
    tags: [],
    gpu_hours: 0,
    ...over,
  };
}

export function jobDetail(over: Partial<JobDetail> = {}): JobDetail {
  return { ...job(), notes: "", prediction: {}, result_file: null, attempts: [attempt()], validated_by: null, validated_at: AT, code_environment: null, code_image: "", dropped: [], removed_parts: [], cursor: "10-20", ...over };
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

export function run(over: Partial<Run> = {}): Run {
  return {
    id: "00000000-0000-7000-8000-00000000aa01", name: "calm-lake-1", status: "FINISHED", project: VISION,
    created_by: ADA, parent_job: null, started_at: AT, ended_at: AT, ...over,
  };
}
