// SPDX-License-Identifier: Apache-2.0
// The API that tests talk to: someone is signed in, with one project in one organisation; tests add the rest.
import { http, HttpResponse, type JsonBodyType } from "msw";
import { setupServer } from "msw/node";

import type { JobPreview, Page, WhatIfAnswer } from "@/api/types";
import { datasetVersion, jobDetail, me, modelVersion, organisation, project, signInMethods } from "@/testing/fixtures";
import { cluster, jobPreview, quota, schedulerStatus, whatIfAnswer, why } from "@/testing/schedulingFixtures";

/** Answers GET `path` ("/api/v1/jobs/{id}" or "/api/v1/jobs/:id") with `body`, or with what it returns by then. */
export function answers<T>(path: string, body: T | (() => T)) {
  const pattern = path.replace(/\{(\w+)\}/g, ":$1");
  return http.get(pattern, () => HttpResponse.json((body instanceof Function ? body() : body) as JsonBodyType));
}

export function page<T>(results: T[]): Page<T> {
  return { next: null, previous: null, results };
}

export function problem(status: number, body: Record<string, unknown>): Response {
  return HttpResponse.json({ status, ...body }, { status, headers: { "Content-Type": "application/problem+json" } });
}

export const server = setupServer(
  answers("/api/v1/auth/me", me()),
  answers("/api/v1/auth/second-factor", { is_enabled: false, n_recovery_codes: 0, has_password: true, is_recovering: false }),
  answers("/api/v1/auth/passkeys", page([])),
  answers("/api/v1/auth/setup", { is_needed: false }),
  answers("/api/v1/auth/methods", signInMethods()),
  answers("/api/v1/projects", page([project()])),
  answers("/api/v1/projects/{id}", project()),
  answers("/api/v1/projects/{id}/roles", page([])),
  answers("/api/v1/projects/{id}/secrets", page([])),
  answers("/api/v1/teams", page([])),
  answers("/api/v1/organisations", page([organisation()])),
  answers("/api/v1/organisations/{id}", organisation()),
  answers("/api/v1/job-tags", []),
  answers("/api/v1/jobs", page([])),
  answers("/api/v1/jobs/{id}", jobDetail()),
  answers("/api/v1/datasets", page([])),
  answers("/api/v1/dataset-versions/{id}", datasetVersion()),
  answers("/api/v1/models", page([])),
  answers("/api/v1/model-versions/{id}", modelVersion()),
  answers("/api/v1/runs", page([])),
  answers("/api/v1/tokens", page([])),
  answers("/api/v1/uploads", page([])),
  answers("/api/v1/users", page([])),
  answers("/api/v1/organisations/{id}/members", page([])),
  answers("/api/v1/organisations/{id}/service-accounts", page([])),
  answers("/api/v1/invitations", page([])),
  answers("/api/v1/user-quotas/mine", []),
  answers("/api/v1/cluster", cluster()),
  answers("/api/v1/organisations/{id}/quota", quota()),
  answers("/api/v1/announcements/current", { announcements: [], next_change_at: null }),
  answers("/api/v1/announcements", page([])),
  answers("/api/v1/platform/settings", { settings: [] }),
  answers("/api/v1/scheduler/status", schedulerStatus()),
  answers("/api/v1/queue/waits", { median_s: null, n_jobs: 0, scope: "visible", since: "2026-03-01T09:00:00Z" }),
  answers("/api/v1/jobs/{id}/why", why()),
  answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "0" }),
  answers("/api/v1/jobs/{id}/events", page([])),
  answers("/api/v1/jobs/{id}/metrics/names", { names: [], next: null }),
  answers("/api/v1/jobs/{id}/speed", { samples: [], slowdowns: [], refused: [], workers: [] }),
  answers("/api/v1/jobs/{id}/usage", { attempt_number: null, resources: [], pods: [], next_pod: null }),
  answers("/api/v1/jobs/{id}/profiles", []),
  answers("/api/v1/dataset-versions/{id}/caches", {
    has_node_caches: false,
    size_bytes: 0,
    nodes: [],
    n_nodes: 0,
    n_starts: 0,
    inputs_bytes: 0,
    found_bytes: 0,
  }),
  answers("/api/v1/jobs/{id}/startup", { number: null, phases: [], total_s: 0, is_complete: false, inputs: [] }),
  answers("/api/v1/jobs/{id}/artifacts", []),
  answers("/api/v1/jobs/{id}/checkpoints", []),
  answers("/api/v1/models/{id}/versions/{version}/lineage", { version: "", nodes: [], edges: [], n_left_out: 0 }),
  http.head("/favicon.svg", () => new HttpResponse()),
  http.post("/api/v1/jobs/preview", () => HttpResponse.json<JobPreview>(jobPreview())),
  http.post("/api/v1/what-if", () => HttpResponse.json<WhatIfAnswer>(whatIfAnswer())),
  answers("/api/v1/organisations/{id}/quota-tree", { may_edit: false, owners: [] }),
  answers("/api/v1/quota-requests", page([])),
);
