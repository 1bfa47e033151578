// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a job: what each is worth, and pin, download, fork and delete.
import { plural, t } from "@lingui/core/macro";
import { Group, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { canChangeJob, canSubmit, useMe } from "@/api/session";
import type { Checkpoint, Job } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { SectionCard } from "@/components/layout/Section";
import { checkpointsQuery } from "@/features/jobs/queries";
import { bytes, number } from "@/lib/quantities";

import { CheckpointTable } from "./CheckpointTable";
import { Choosing } from "./Choosing";
import { deletableOf, isEnded } from "./choice";

export function CheckpointsCard({ job }: { job: Job }) {
  const list = useQuery(checkpointsQuery(job));
  return (
    <SectionCard title={t`Checkpoints`}>
      <QueryResult of={list} label={t`Loading the checkpoints`}>
        {(found) => (found.length === 0 ? <Nothing job={job} /> : <Checkpoints job={job} checkpoints={found} />)}
      </QueryResult>
    </SectionCard>
  );
}

function Nothing({ job }: { job: Job }) {
  return (
    <Text size="sm" c="dimmed">
      {job.state === "running" ? t`It has written no checkpoint yet.` : t`There is no checkpoint of it.`}
    </Text>
  );
}

function Checkpoints({ job, checkpoints }: { job: Job; checkpoints: Checkpoint[] }) {
  const me = useMe();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const isReachable = checkpoints.some(({ is_reachable }) => is_reachable);
  const rights = {
    mayChange: isReachable && canChangeJob(me, job.project, job.created_by),
    mayFork: isReachable && canSubmit(me, job.project),
  };
  const deletable = deletableOf(job, checkpoints);
  const marked = deletable.filter(({ id }) => chosen.has(id));

  async function remove() {
    const params = { path: { id: job.id } };
    const body = { checkpoints: marked.map(({ id }) => id) };
    await unwrap(api.POST("/api/v1/jobs/{id}/checkpoints/delete", { params, body }));
    setChosen(new Set());
    await queries.invalidateQueries({ queryKey: ["job", job.id, "checkpoints"] });
  }

  const label = t`Delete ${plural(marked.length, { one: "# checkpoint", other: "# checkpoints" })}`;
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Text size="sm" c="dimmed">
          {plural(checkpoints.length, { one: "# checkpoint", other: "# checkpoints" })}, {sizeOf(checkpoints)}. {isReachable ? "" : whyNot(job)}
        </Text>
        {marked.length > 0 && (
          <ConfirmButton
            label={label}
            title={t`Delete ${plural(marked.length, { one: "# checkpoint", other: "# checkpoints" })} of ${job.name}?`}
            text={<Consequences job={job} marked={marked} all={checkpoints} />}
            action={remove}
            size="xs"
          />
        )}
      </Group>
      {rights.mayChange && deletable.length > 1 && <Choosing deletable={deletable} chosen={chosen} onChoose={setChosen} />}
      <CheckpointTable job={job} checkpoints={checkpoints} deletable={deletable} {...rights} chosen={chosen} onChoose={setChosen} />
    </>
  );
}

/** Why none of them can be downloaded, pinned, deleted or forked. */
function whyNot(job: Job): string {
  return job.model_version.kind === "script"
    ? t`They are in the script's own format: it finds them when the job is resumed. Files of a job that succeeded are its artifacts.`
    : t`Only the job's pods reach the files.`;
}

/** What goes with them, and what stays. */
function Consequences({ job, marked, all }: { job: Job; marked: readonly Checkpoint[]; all: readonly Checkpoint[] }) {
  const steps = marked.map(({ step }) => step);
  const [low, high] = [number(Math.min(...steps)), number(Math.max(...steps))];
  const nBest = marked.filter(({ is_best }) => is_best).length;
  const nLeft = all.filter(({ is_best }) => !is_best).length - (marked.length - nBest);
  const nPinned = all.filter(({ is_pinned }) => is_pinned).length;
  return (
    <Stack gap="xs">
      <span>{low === high ? t`Of step ${low}: ${sizeOf(marked)} are freed, for good.` : t`Of steps ${low} to ${high}: ${sizeOf(marked)} are freed, for good.`}</span>
      {nBest > 0 && <span>{t`${plural(nBest, { one: "# has", other: "# have" })} the weights of one of the best evaluations.`}</span>}
      {nLeft === 0 && <strong>{isEnded(job) ? t`None is left: the job cannot be continued or forked any more.` : t`None is left to resume from.`}</strong>}
      {nPinned > 0 && <span>{t`${plural(nPinned, { one: "# that is pinned stays", other: "# that are pinned stay" })}.`}</span>}
      <span>{t`The trained model stays.`}</span>
    </Stack>
  );
}

function sizeOf(checkpoints: readonly Checkpoint[]): string {
  return bytes(checkpoints.reduce((total, { size_bytes }) => total + size_bytes, 0));
}
