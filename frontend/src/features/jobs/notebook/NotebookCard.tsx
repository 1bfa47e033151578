// SPDX-License-Identifier: Apache-2.0
// A notebook on its job's page: the way in once it answers, and when it will be paused.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Text } from "@mantine/core";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { canChangeJob, useMe } from "@/api/session";
import type { JobDetail } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SectionCard } from "@/components/layout/Section";
import { clock, duration } from "@/lib/time";

const LOOK_EVERY_MS = 5000;

interface ServerStatus {
  is_ready: boolean;
  silent_since: string | null;
}

const notebookQuery = (job: Pick<JobDetail, "id" | "state">) =>
  queryOptions({
    queryKey: ["job", job.id, "notebook", job.state],
    queryFn: () => unwrap(api.GET("/api/v1/jobs/{id}/notebook", { params: { path: { id: job.id } } })),
    refetchInterval: job.state === "running" ? LOOK_EVERY_MS : false,
  });

export function NotebookCard({ job }: { job: JobDetail }) {
  const me = useMe();
  const status = useQuery(notebookQuery(job));
  const open = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/jobs/{id}/notebook", { params: { path: { id: job.id } } })),
  });

  /** The window is opened by the click itself: browsers block those that come later. */
  function enter() {
    const page = window.open("", "_blank");
    open.mutate(undefined, {
      onSuccess: ({ url }) => {
        if (page === null) window.location.assign(url);
        else {
          page.opener = null;
          page.location.replace(url);
        }
      },
      onError: () => page?.close(),
    });
  }

  const found = status.data;
  return (
    <SectionCard
      title={t`Notebook`}
      aside={
        canChangeJob(me, job.project, job.created_by) && (
          <Button onClick={enter} disabled={found?.is_ready !== true} loading={open.isPending}>
            {t`Open notebook`}
          </Button>
        )
      }
    >
      <ProblemAlert error={open.error ?? status.error} />
      {found !== undefined && (
        <Group gap="xs">
          <Text size="sm">{sentence(job, found)}</Text>
          <Text size="sm" c="dimmed">
            {t`Paused after ${duration(found.idle_limit_s)} without a running cell, terminal or GPU.`}
          </Text>
        </Group>
      )}
      {found?.is_warned === true && found.stops_at !== null && (
        <Alert color="yellow" mt="sm" role="alert" title={t`Nothing is done in it: it is paused at ${clock(found.stops_at)}`}>
          {t`Run a cell or use a terminal to keep it. Its folder is kept in any case; kernels and terminals end.`}
        </Alert>
      )}
      {job.state === "running" && found !== undefined && found.silent_since !== null && found.stops_at !== null && (
        <Alert color="yellow" mt="sm" role="alert" title={t`JupyterLab has not answered since ${clock(found.silent_since)}`}>
          {t`It is paused at ${clock(found.stops_at)} unless it answers before. Pause and resume the job to start it anew with its folder.`}
        </Alert>
      )}
      {job.state === "paused" && found?.reclaimed_at != null && (
        <Text size="sm" mt="sm">
          {found.silent_since === null
            ? t`It was paused at ${clock(found.reclaimed_at)}, since nothing was done in it.`
            : t`It was paused at ${clock(found.reclaimed_at)}, since JupyterLab had not answered since ${clock(found.silent_since)}.`}
        </Text>
      )}
    </SectionCard>
  );
}

function sentence(job: JobDetail, { is_ready, silent_since }: ServerStatus): string {
  if (is_ready) return t`It runs.`;
  if (job.state === "running" && silent_since !== null) return t`It does not answer.`;
  switch (job.state) {
    case "queued":
      return t`It waits for a GPU.`;
    case "starting":
    case "running":
      return t`It is starting.`;
    case "stopping":
      return t`It is stopping.`;
    case "paused":
      return t`It is paused: resume it to go on with its folder.`;
    case "succeeded":
      return t`It was shut down. Its files are below; download what you need.`;
    default:
      return t`It has ended.`;
  }
}
