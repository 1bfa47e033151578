// SPDX-License-Identifier: Apache-2.0
// Deletes a job that has ended; the dialogue says what goes with it and what stays.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { api, unwrap } from "@/api/client";
import type { Deletion, Job } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { deletionQuery } from "@/features/jobs/queries";
import { bytes, count } from "@/lib/quantities";

export function DeleteJob({ job }: { job: Pick<Job, "id" | "name"> }) {
  const navigate = useNavigate();
  const queries = useQueryClient();

  async function remove() {
    await unwrap(api.DELETE("/api/v1/jobs/{id}", { params: { path: { id: job.id } } }));
    await navigate("/jobs");
    queries.removeQueries({ queryKey: ["job", job.id] });
    void queries.invalidateQueries({ queryKey: ["jobs"] });
  }

  return (
    <ConfirmButton
      label="Delete job"
      title={`Delete ${job.name}?`}
      text={<Consequences id={job.id} />}
      action={remove}
    />
  );
}

/** Read when the dialogue opens. */
function Consequences({ id }: { id: string }) {
  const { data } = useQuery(deletionQuery(id));
  if (data === undefined) return "Its attempts, curves, log, checkpoints and predictions are deleted for good.";
  if (data.refusal !== "") return `${data.refusal} ${data.remedy}`;
  return [...gone(data), ...staying(data)].join(" ");
}

function gone({ n_attempts, checkpoint_bytes, result_bytes }: Deletion): string[] {
  const parts = [`${count(n_attempts, "attempt")} with curves and logs`];
  if (checkpoint_bytes === null) parts.push("all checkpoints");
  else if (checkpoint_bytes > 0) parts.push(`${bytes(checkpoint_bytes)} of checkpoints`);
  if (result_bytes > 0) parts.push(`${bytes(result_bytes)} of results`);
  return [`For good: ${parts.join(", ")}.`];
}

function staying({ trained_model, n_clones }: Deletion): string[] {
  const parts = [...(trained_model ? [`the model ${trained_model}`] : []), ...(n_clones ? [count(n_clones, "clone")] : [])];
  return parts.length > 0 ? [`What stays: ${parts.join(" and ")}.`] : [];
}
