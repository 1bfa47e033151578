// SPDX-License-Identifier: Apache-2.0
// Reads the job that is to be cloned, and fills the form with its settings.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { api, unwrap } from "@/api/client";
import { jobQuery } from "@/api/jobs";
import type { Job, JobSubmit } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";

import type { Clone } from "./basics/useNewJob";
import { type Draft, NO_DATASET, type Pin, requestOf } from "./draft";
import { draftOfRequest } from "./file/requestDraft";

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
  const { name, epochs, batch_size, mode, min_workers, max_workers, target_metric, target_value, seed, priority } = job;
  const { hyperparameters, strategy, resources, limits, environment, secrets, image, dataset_version, model_version } = job;
  const datasets = Object.fromEntries(job.datasets.map((one) => [one.name, one.dataset.id]));
  const pins: Pin[] = dataset_version ? [{ of: dataset_version.dataset.id, field: "dataset_version", value: dataset_version.id }] : [];
  pins.push({ of: model_version.model.id, field: "model_version", value: model_version.id });
  const request = {
    ...{ dataset: dataset_version?.dataset.id ?? NO_DATASET, model: model_version.model.id, datasets },
    ...{ name, epochs, batch_size, mode, min_workers, max_workers, target_metric, target_value, seed, priority },
    ...{ hyperparameters, strategy, resources, limits, environment, secrets, image },
  };
  return draftOfRequest(request, pins);
}

/** What a clone has the original's versions of. */
const OF_ORIGINAL: ReadonlySet<string> = new Set(["dataset", "dataset_version", "datasets", "project", "model", "model_version"]);

/** What is left empty in the form is sent as such, so that it does not stay as in the original. */
function cloneJob(id: string, draft: Draft): Promise<Job> {
  const settings = Object.entries(requestOf(draft)).filter(([name]) => !OF_ORIGINAL.has(name));
  const emptied = { hyperparameters: {}, strategy: {}, resources: {}, limits: {}, environment: {}, secrets: [], image: "", target_metric: "", target_value: null };
  const { batch_size, ...others } = Object.fromEntries(settings) as Partial<JobSubmit>;
  const body = { ...emptied, ...others, ...(typeof batch_size === "number" ? { batch_size } : {}) };
  return unwrap(api.POST("/api/v1/jobs/{id}/clone", { params: { path: { id } }, body }));
}
