// SPDX-License-Identifier: Apache-2.0
// The pending jobs in the scheduler's order and why; what-if questions; the rounds, for administrators. One at a time.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Link } from "react-router";

import { schedulerStatusQuery } from "@/api/scheduler";
import { canChangeJob, isAdminSomewhere, isStaff, useMe } from "@/api/session";
import type { QueuedJob, SchedulerStatus } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { DoneBar } from "@/components/feedback/DoneBar";
import { EmptyState } from "@/components/feedback/EmptyState";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SchedulerAlerts, hasSchedulerProblem } from "@/components/feedback/SchedulerAlerts";
import { Dialog } from "@/components/form/Dialog";
import { Page } from "@/components/layout/Page";
import { useFilters } from "@/components/table/useFilters";
import { lazyComponent } from "@/lib/chunk";
import { number } from "@/lib/quantities";

import { QueueTable } from "./QueueTable";
import { Rounds } from "./Rounds";
import type { Move, Moved } from "./moves/move";
import { givePriority, pause, queueQuery, resume } from "./queries";

const GpuTypeFilter = lazyComponent(async () => (await import("./GpuTypeFilter")).GpuTypeFilter);

const WhatIfForm = lazyComponent(async () => (await import("./WhatIfForm")).WhatIfForm);

const MoveForm = lazyComponent(async () => (await import("./moves/MoveForm")).MoveForm);

const NAMES = ["view", "owner", "gpu_type"] as const;

export function QueuePage() {
  const me = useMe();
  const status = useQuery(schedulerStatusQuery);
  const { filters, filter } = useFilters(NAMES);
  const views = [
    { value: "", label: t`Pending jobs` },
    { value: "what-if", label: t`What if?` },
    ...(isStaff(me) ? [{ value: "rounds", label: t`Rounds` }] : []),
  ];
  const view = views.find(({ value }) => value === filters.view)?.value ?? "";
  return (
    <Page title={t`Queue`} subtitle={status.data && <StatusLine status={status.data} />}>
      {status.data && !isStaff(me) && hasSchedulerProblem(status.data) && <SchedulerAlerts status={status.data} />}
      <SegmentedControl aria-label={t`View`} value={view} onChange={(value) => filter("view", value)} data={views} style={{ alignSelf: "start" }} />
      {view === "" && <PendingJobs />}
      {view === "what-if" && <Suspense fallback={<Loading />}><WhatIfForm isStaff={isStaff(me)} /></Suspense>}
      {view === "rounds" && <Rounds />}
    </Page>
  );
}

function StatusLine({ status }: { status: SchedulerStatus }) {
  if (status.round_at === null) return <>{t`There was no scheduling round yet.`}</>;
  return (
    <>
      <Trans>
        {number(status.n_waiting)} pending in all organisations · policy {status.policy} · last round{" "}
        <RelativeTime at={status.round_at} />, in {number(Math.round(status.round_ms))} ms, of which{" "}
        {number(Math.round(status.decide_ms))} ms to decide
      </Trans>
    </>
  );
}

function PendingJobs() {
  const me = useMe();
  const { filters, filter, turn } = useFilters(NAMES);
  const { owner = "", gpu_type: gpuType = "" } = filters;
  const after = Number(filters.cursor) || 0;
  const queue = useQuery(queueQuery(after, owner, gpuType));
  const [move, setMove] = useState<Move | null>(null);
  const [moved, setMoved] = useState<Moved | null>(null);
  const [paused, setPaused] = useState<QueuedJob | null>(null);
  const queries = useQueryClient();
  const pausing = useMutation({ mutationFn: (job: QueuedJob) => pause(queries, job.id), onSuccess: (_, job) => setPaused(job) });
  return (
    <Stack component="section" gap="xs" aria-label={t`Pending jobs`}>
      <Group gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={t`Whose jobs`}
          value={owner}
          onChange={(value) => filter("owner", value)}
          data={[
            { value: "", label: t`All` },
            { value: me.username, label: t`Mine` },
            ...(owner === "" || owner === me.username ? [] : [{ value: owner, label: owner }]), // of a link
          ]}
        />
        <Suspense fallback={null}>
          <GpuTypeFilter value={gpuType} onChange={(value) => filter("gpu_type", value)} />
        </Suspense>
        {isAdminSomewhere(me) && (
          <Button component={Link} to="/quotas" size="xs" variant="default" ml="auto">
            {t`Boost or reserve GPUs`}
          </Button>
        )}
      </Group>
      {moved !== null && (
        <DoneBar
          key={moved.job.id}
          text={t`${moved.job.name} has priority ${moved.priority} now; the next round moves it.`}
          takeBack={() => givePriority(queries, moved.job.id, moved.formerPriority)}
          onTaken={() => setMoved(null)}
          onClose={() => setMoved(null)}
        />
      )}
      {paused !== null && (
        <DoneBar
          key={paused.id}
          text={t`${paused.name} is paused: it is out of the queue until it is resumed.`}
          takeBack={() => resume(queries, paused.id)}
          onTaken={() => setPaused(null)}
          onClose={() => setPaused(null)}
        />
      )}
      <ProblemAlert error={pausing.error} />
      <Dialog opened={move !== null} onClose={() => setMove(null)} size="xl" title={move === null ? "" : moveTitle(move)}>
        {move !== null && (
          <MoveForm
            move={move}
            onClose={() => setMove(null)}
            onMoved={({ priority, present_priority: formerPriority }) => {
              setMoved({ job: move.job, priority, formerPriority });
              setMove(null);
            }}
          />
        )}
      </Dialog>
      <QueryResult of={queue}>
        {({ results, next }) =>
          results.length === 0 && after === 0 ? (
            <EmptyState
              title={gpuType === "" ? t`No pending jobs` : t`No pending job may use ${gpuType}`}
              text={t`Jobs that you may see and that are pending appear here, the next one first.`}
              action={
                <Button component={Link} to="/jobs/new">
                  {t`New job`}
                </Button>
              }
            />
          ) : (
            <>
              <QueueTable jobs={results} isMovable={(job) => canChangeJob(me, job.project, job.created_by)} onMove={setMove} onPause={(job) => pausing.mutate(job)} />
              <Group justify="space-between" gap="xs">
                <Text size="xs" c="dimmed">
                  {t`Places count the jobs of all organisations; you see those of yours.`}
                </Text>
                <Group gap="xs">
                  {after > 0 && (
                    <Button size="xs" variant="default" onClick={() => turn(undefined)}>
                      {t`To the front`}
                    </Button>
                  )}
                  {next !== null && (
                    <Button size="xs" variant="default" onClick={() => turn(`${results.at(-1)?.place ?? 0}`)}>
                      {t`Further back`}
                    </Button>
                  )}
                </Group>
              </Group>
            </>
          )
        }
      </QueryResult>
    </Stack>
  );
}

function moveTitle({ job, neighbour, side }: Move): string {
  return side === "before" ? t`Move ${job.name} before ${neighbour.name}?` : t`Move ${job.name} behind ${neighbour.name}?`;
}
