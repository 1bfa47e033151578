// SPDX-License-Identifier: Apache-2.0
// What the API returns about the cluster, its quotas and the scheduler's decisions; each test overrides what it is about.
import type {
  AdvisedAction,
  Analysis,
  Cluster,
  Costs,
  Decision,
  JobPreview,
  QueuedJob,
  Quota,
  QuotaOwner,
  UserQuota,
  SchedulerStatus,
  WhatIfAnswer,
  Why,
} from "@/api/types";
import { ACME, AT, job, JOB_ID, VISION } from "@/testing/fixtures";

export function quota(over: Partial<Quota> = {}): Quota {
  return {
    max_gpus: 8,
    boosted_gpus: 0,
    ...{ gpus_by_type: {}, guarantee_by_type: {}, borrow_limit_by_type: {}, lend_limit_by_type: {} },
    ...{ max_cpus: null, max_memory_bytes: null },
    max_running_jobs: 4,
    max_waiting_jobs: null,
    max_storage_bytes: 10 * 1024 ** 3,
    guarantee: null,
    borrow_limit: null,
    lend_limit: null,
    reclaim: "any",
    weight: 1,
    shares_fairly: false,
    half_life_s: 0,
    max_priority: null,
    budgets: [],
    overcommitted: [],
    version: 3,
    used: { gpus: 2, cpus: 2, memory_bytes: 0, running_jobs: 1, waiting_jobs: 0, storage_bytes: 1024 ** 3 },
    ...over,
  };
}

export function quotaOwner(over: Partial<QuotaOwner> = {}): QuotaOwner {
  return {
    kind: "project",
    ...{ id: VISION.id, name: VISION.name, above: ACME.id },
    max_gpus: null,
    ...{ gpus_by_type: {}, guarantee_by_type: {}, borrow_limit_by_type: {}, lend_limit_by_type: {}, books_by_type: {} },
    ...{ max_cpus: null, max_memory_bytes: null, used_cpus: 0, used_memory_bytes: 0 },
    ...{ max_running_jobs: null, max_waiting_jobs: null, max_storage_bytes: null },
    guarantee: null,
    borrow_limit: null,
    lend_limit: null,
    reclaim: "any",
    weight: 1,
    shares_fairly: false,
    half_life_s: 0,
    max_priority: null,
    budgets: [],
    ...{ boosts: [], boosts_to_come: [] },
    overcommitted: [],
    version: 1,
    guaranteed: 0,
    used: 0,
    borrowed: 0,
    lent: 0,
    used_by_type: {},
    ...{ running_jobs: 0, waiting_jobs: 0, storage_bytes: null },
    queued_gpus: 0,
    ...over,
  };
}

/** Limits of one user, bob, in the project Vision. */
export function userQuota(over: Partial<UserQuota> = {}): UserQuota {
  return {
    ...{ id: "00000000-0000-7000-8000-0000000000e1", kind: "project", owner: VISION.id, owner_name: VISION.name },
    organisation: ACME.id,
    user: { id: "00000000-0000-7000-8000-0000000000e2", username: "bob" },
    ...{ max_cpus: null, max_memory_bytes: null },
    ...{ max_gpus: 4, gpus_by_type: {}, max_running_jobs: null, max_waiting_jobs: null, max_storage_bytes: null },
    ...{ budgets: [], version: 2 },
    used: {
      ...{ gpus: 1, gpus_by_type: {}, cpus: 2, memory_bytes: 1024 ** 3, running_jobs: 1, waiting_jobs: 0 },
      ...{ storage_bytes: null, budgets: [] },
    },
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
    admission: { is_paused: false, reason: "", since: null, until: null, paused_by: "", version: 0 },
    offers_notebooks: true,
    no_notebooks_because: "",
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
  const nothing = { seconds: 0, error_s: 0.1, n: 7, basis: "family" as const, sentence: "in the words of the server" };
  const start = { seconds: 31, error_s: 4, n: 7, basis: "family" as const, sentence: "in the words of the server" };
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
    analysis: null,
    note: "It was not asked for.",
    ...over,
  };
}

/** Of a waiting job. */
export function analysis(over: Partial<Analysis> = {}): Analysis {
  return {
    policy: "mlhub",
    as_of: AT,
    compute_ms: 40,
    n_workers: 2,
    start_at: AT,
    finish_at: AT,
    blockers: [],
    ahead: { n_jobs: 0, n_others: 0, jobs: [] },
    awaited: null,
    actions: [],
    n_tried: 0,
    n_untried: 0,
    ...over,
  };
}

export function advisedAction(over: Partial<AdvisedAction> = {}): AdvisedAction {
  return {
    kind: "fewer_workers",
    sentence: "Start with 1 GPU instead of 2.",
    by: "member",
    job: JOB_ID,
    tenant: "",
    changes: { min_workers: 1 },
    starts_now: true,
    start_at: AT,
    start_p90_at: AT,
    finish_at: AT,
    finish_p90_at: AT,
    gain_s: 600,
    n_delayed: 0,
    n_delayed_others: 0,
    together: [],
    delayed_s: 0,
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
  return { policy: "mlhub", as_of: AT, decide_ms: 4, n_jobs: 3, basis: "", effects: [], overcommitted: [], below_use: [], stop_grace_s: 30, ...over };
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
            exclusion: null,
            slots: [
              { index: 0, job: { id: JOB_ID, name: "digits-cnn", organisation: ACME, slowdown: null }, colocated: [], gpu: null },
              { index: 1, job: null, colocated: [], gpu: null },
            ],
            servers: [],
          },
        ],
      },
    ],
    totals: { gpus: 2, free_gpus: 1, running_jobs: 1, queued_jobs: 0 },
    backend: { name: "local", away_since: null, message: "" },
    quarantined: [],
    interference: [],
    links: [],
    link_loads: [],
    traffic: [],
    sandbox: [],
    ledger_failing_since: null,
    overcommitted: [],
    ...over,
  };
}
