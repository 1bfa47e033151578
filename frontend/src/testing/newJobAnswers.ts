// SPDX-License-Identifier: Apache-2.0
// What the API answers to the form of a new job, and what was submitted.
import { http, HttpResponse } from "msw";

import type { JobSubmit } from "@/api/types";

import { dataset, job, jobDetail, model } from "./fixtures";
import { answers, page, server } from "./server";

export const BUILTIN = model({ id: "00000000-0000-7000-8000-0000000000e9", name: "MLP", project: null });
export const PRESELECTED = `/jobs/new?dataset=${dataset().id}&model=${BUILTIN.id}`;

interface Sent {
  key: string | null;
  body: JobSubmit;
}

/** Answers the POSTs one by one; the last answer is repeated. */
export function submissions(...responses: (() => Response)[]): Sent[] {
  const sent: Sent[] = [];
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push({ key: request.headers.get("Idempotency-Key"), body: (await request.json()) as JobSubmit });
      return (responses[sent.length - 1] ?? responses.at(-1))?.() ?? HttpResponse.error();
    }),
  );
  return sent;
}

export const created = () => HttpResponse.json(job() as object, { status: 201 });

/** Before each test: a dataset, models, and a job that is there once it is started. */
export function answerNewJob(): void {
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([model(), BUILTIN])),
    answers("/api/v1/strategies", [
      {
        name: "push_sum",
        about: "Workers send one way only.",
        mode: "all_reduce",
        is_resizable: true,
        other_names: ["sgp"],
        parameters: [{ name: "n_peers", kind: "int", default: 1, minimum: 1, maximum: 16, choices: [] }],
      },
    ]),
    answers("/api/v1/jobs/{id}", jobDetail()),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs", page([])),
    answers("/api/v1/projects/{id}/secrets", page([])),
  );
}
