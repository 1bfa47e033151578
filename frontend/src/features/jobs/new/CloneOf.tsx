// SPDX-License-Identifier: Apache-2.0
// Reads the job that is to be cloned, and fills the form with its settings.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { api, isRecord, unwrap } from "@/api/client";
import type { Job, JobSubmit } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { podSettings } from "@/domain/pods/podSetting";
import { jobQuery } from "@/features/jobs/queries";

import { lineOf } from "./basics/commandLine";
import type { Clone } from "./basics/useNewJob";
import { type Draft, emptyDraft, NO_DATASET, requestOf } from "./draft";

export function CloneOf({ id, children }: { id: string; children: (clone: Clone) => ReactNode }) {
  const job = useQuery(jobQuery(id));
  return (
    <QueryResult of={job} label={t`Loading the job to clone`}>
      {(found) =>
        children({ id: found.id, name: found.name, draft: draftOf(found), send: (draft) => cloneJob(found.id, draft) })
      }
    </QueryResult>
  );
}

/** The form as it would have been filled in for this job. */
export function draftOf(job: Job): Draft {
  const { name: strategy, ...parameters } = isRecord(job.strategy) ? job.strategy : {};
  const { arguments: given, ...hyperparameters } = job.hyperparameters;
  const words = Array.isArray(given) ? given.map(String) : null;
  const asked: Record<string, unknown> = { ...job.resources, ...job.limits };
  const draft = emptyDraft(job.dataset_version?.dataset.id ?? NO_DATASET, job.model_version.model.id);
  for (const name of podSettings) draft[name] = typeof asked[name] === "number" ? asked[name] : "";
  return {
    ...draft,
    name: job.name,
    datasets: job.datasets.map(({ name, dataset }) => ({ name, dataset: dataset.id })),
    epochs: job.epochs,
    batch_size: job.batch_size,
    mode: job.mode,
    min_workers: job.min_workers,
    max_workers: job.max_workers,
    arguments: words === null ? "" : lineOf(words),
    hyperparameters: written(words === null ? job.hyperparameters : hyperparameters),
    strategy: typeof strategy === "string" ? strategy : "",
    parameters: written(parameters),
    target_metric: job.target_metric,
    target_value: job.target_value ?? "",
    seed: job.seed,
    priority: job.priority,
    gpu_types: (job.resources.gpu_types ?? []).join(", "),
  };
}

/** What is left empty in the form is sent as such, so that it does not stay as in the original. */
function cloneJob(id: string, draft: Draft): Promise<Job> {
  const settings: Partial<JobSubmit> = requestOf(draft);
  delete settings.dataset; // the original's versions of all
  delete settings.datasets;
  delete settings.project;
  delete settings.model;
  const emptied = { hyperparameters: {}, strategy: {}, resources: {}, limits: {}, target_metric: "", target_value: null };
  const { batch_size, ...others } = settings;
  const body = { ...emptied, ...others, ...(typeof batch_size === "number" ? { batch_size } : {}) };
  return unwrap(api.POST("/api/v1/jobs/{id}/clone", { params: { path: { id } }, body }));
}

function written(values: Record<string, unknown>): string {
  return Object.keys(values).length === 0 ? "" : JSON.stringify(values, null, 2);
}
