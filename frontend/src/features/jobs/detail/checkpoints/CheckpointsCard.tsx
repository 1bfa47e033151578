// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a job: what each is worth, and pin, download, fork and delete.
import { plural, t } from "@lingui/core/macro";
import { Group, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { canChangeJob, canSubmit, useMe } from "@/api/session";
import type { Checkpoint, Job } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { checkpointsQuery } from "@/features/jobs/queries";
import { bytes } from "@/lib/quantities";

import { CheckpointRow } from "./CheckpointRow";

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
  const marked = checkpoints.filter(({ id }) => chosen.has(id));

  function choose(id: number, isChosen: boolean) {
    const rest = [...chosen].filter((other) => other !== id);
    setChosen(new Set(isChosen ? [...rest, id] : rest));
  }

  async function remove() {
    const params = { path: { id: job.id } };
    const body = { checkpoints: marked.map(({ id }) => id) };
    await unwrap(api.POST("/api/v1/jobs/{id}/checkpoints/delete", { params, body }));
    setChosen(new Set());
    await queries.invalidateQueries({ queryKey: ["job", job.id, "checkpoints"] });
  }

  const size = bytes(checkpoints.reduce((total, { size_bytes }) => total + size_bytes, 0));
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Text size="sm" c="dimmed">
          {plural(checkpoints.length, { one: "# checkpoint", other: "# checkpoints" })}, {size}. {isReachable ? "" : t`Only the job's pods reach the files.`}
        </Text>
        {marked.length > 0 && (
          <ConfirmButton
            label={t`Delete ${plural(marked.length, { one: "# checkpoint", other: "# checkpoints" })}`}
            title={t`Delete ${plural(marked.length, { one: "# checkpoint", other: "# checkpoints" })} of ${job.name}?`}
            text={t`They are deleted for good. The trained model stays.`}
            action={remove}
            size="xs"
          />
        )}
      </Group>
      <ScrollTable label={t`Checkpoints`} head={["", t`Step`, t`Kind`, t`Metrics`, t`Size`, t`Written`, ""]}>
        {checkpoints.map((checkpoint) => (
          <CheckpointRow
            key={checkpoint.id}
            job={job}
            checkpoint={checkpoint}
            {...rights}
            isChosen={chosen.has(checkpoint.id)}
            onChoose={(isChosen) => choose(checkpoint.id, isChosen)}
          />
        ))}
      </ScrollTable>
    </>
  );
}
