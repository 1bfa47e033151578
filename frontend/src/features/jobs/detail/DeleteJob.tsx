// SPDX-License-Identifier: Apache-2.0
// Deletes a job that has ended; the dialogue says what goes with it and what stays.
import { plural, t } from "@lingui/core/macro";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { api, unwrap } from "@/api/client";
import type { Deletion, Job } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { deletionQuery } from "@/features/jobs/queries";
import { bytes } from "@/lib/quantities";

interface Props {
  job: Pick<Job, "id" | "name">;
  /** Leaves what showed it; by default for the list of jobs. */
  onDeleted?: (() => void) | undefined;
}

export function DeleteJob({ job, onDeleted }: Props) {
  const navigate = useNavigate();
  const queries = useQueryClient();

  async function remove() {
    await unwrap(api.DELETE("/api/v1/jobs/{id}", { params: { path: { id: job.id } } }));
    if (onDeleted === undefined) await navigate("/jobs");
    else onDeleted();
    queries.removeQueries({ queryKey: ["job", job.id] });
    void queries.invalidateQueries({ queryKey: ["jobs"] });
  }

  return (
    <ConfirmButton
      label={t`Delete job`}
      title={t`Delete ${job.name}?`}
      text={<Consequences id={job.id} />}
      action={remove}
    />
  );
}

/** Read when the dialogue opens. */
function Consequences({ id }: { id: string }) {
  const { data } = useQuery(deletionQuery(id));
  if (data === undefined) return t`Its attempts, curves, log, checkpoints and predictions are deleted for good.`;
  if (data.refusal !== "") return `${data.refusal} ${data.remedy}`;
  return [...gone(data), ...staying(data)].join(" ");
}

function gone({ n_attempts, checkpoint_bytes, result_bytes }: Deletion): string[] {
  const parts = [t`${plural(n_attempts, { one: "# attempt", other: "# attempts" })} with curves and logs`];
  if (checkpoint_bytes === null) parts.push(t`all checkpoints`);
  else if (checkpoint_bytes > 0) parts.push(t`${bytes(checkpoint_bytes)} of checkpoints`);
  if (result_bytes > 0) parts.push(t`${bytes(result_bytes)} of results`);
  return [t`For good: ${parts.join(", ")}.`];
}

function staying({ trained_model, n_clones }: Deletion): string[] {
  const parts = [...(trained_model ? [t`the model ${trained_model}`] : []), ...(n_clones ? [plural(n_clones, { one: "# clone", other: "# clones" })] : [])];
  return parts.length > 0 ? [t`What stays: ${parts.join(t` and `)}.`] : [];
}
