// SPDX-License-Identifier: Apache-2.0
// One node: what it is, whether it can be used, and each of its GPUs.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, Badge, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { Suspense } from "react";
import { Link } from "react-router";

import type { Node, SlotJob } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import classes from "@/features/cluster/NodeCard.module.css";
import { FAILURE_CAUSES } from "@/domain/failureCause";
import { closedReason, freeOn } from "@/domain/scheduling/capacity";
import { bandwidth, gpuUse, isOfOthers } from "@/features/cluster/format";
import { lazyComponent } from "@/lib/chunk";
import { bytes, number } from "@/lib/quantities";

const NodeActions = lazyComponent(async () => (await import("./NodeActions")).NodeActions);

export function NodeCard({ node }: { node: Node }) {
  const closed = closedReason(node);
  const free = freeOn(node);
  const make = [
    `${plural(node.n_slots, { one: "# GPU", other: "# GPUs" })}${node.gpu_type && ` ${node.gpu_type}`}`,
    t`${number(node.cpus)} CPUs`,
    bytes(node.memory_bytes),
    bandwidth(node.nic_bps),
  ];
  return (
    <Paper withBorder p="sm" component="article" aria-label={t`Node ${node.name}`}>
      <Stack gap="xs">
        <div>
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Title order={3} size="sm" style={{ overflowWrap: "anywhere" }}>
              {node.name}
            </Title>
            <Group gap="xs" wrap="nowrap">
              {closed ? (
                <Badge color={node.is_ready ? "orange" : "red"}>{closed}</Badge>
              ) : (
                <Badge color={free > 0 ? "teal" : "gray"}>{free > 0 ? t`${free} free` : t`Full`}</Badge>
              )}
              <Suspense fallback={null}>
                <NodeActions node={node} />
              </Suspense>
            </Group>
          </Group>
          <Text size="xs" c="dimmed">
            {make.filter(Boolean).join(" · ")}
          </Text>
          {node.message && (
            <Text size="xs" mt={2}>
              {node.message}
            </Text>
          )}
          {node.maintenance && <Maintenance maintenance={node.maintenance} />}
          {node.exclusion && <Exclusion exclusion={node.exclusion} />}
          {node.sharing && (
            <Text size="xs" c="dimmed">
              {node.sharing}
            </Text>
          )}
        </div>
        <ul className={classes.slots} aria-label={t`GPUs of ${node.name}`}>
          {node.slots.map(({ index, job, colocated, gpu }) => (
            <li
              key={index}
              className={classes.slot}
              data-use={holderOf(job)}
              aria-label={t`GPU ${index}`}
              title={gpu?.name}
            >
              <Text span size="xs" c="dimmed" aria-hidden>
                {index}
              </Text>
              <span className={classes.occupants}>
                <Occupant job={job} isUsable={closed === undefined && !gpu?.problem} />
                {colocated.map((other, place) => (
                  <Occupant key={other.id ?? place} job={other} isUsable={closed === undefined} />
                ))}
                {gpu && <GpuUse gpu={gpu} />}
              </span>
            </li>
          ))}
        </ul>
        {node.servers.map(({ job, n }, index) => (
          <Text key={index} size="xs" component="div">
            <Trans>
              {plural(n, { one: "# parameter server", other: "# parameter servers" })} of <JobName job={job} />
            </Trans>
          </Text>
        ))}
      </Stack>
    </Paper>
  );
}

function Maintenance({ maintenance: { drain_by, asked_by, asked_at } }: { maintenance: NonNullable<Node["maintenance"]> }) {
  return (
    <Text size="xs" c="dimmed" component="div">
      {asked_by && t`By ${asked_by}, `}
      <RelativeTime at={asked_at} />
      {drain_by !== null && (
        <>
          <Trans>
            ; empty <RelativeTime at={drain_by} />
          </Trans>
        </>
      )}
    </Text>
  );
}

/** "3 attempts of 2 jobs failed here in a row, the last one by this cause: GPU not usable. It is tried again in 9 min."
 * Of a GPU, the GPU itself says so. */
function Exclusion({ exclusion: { gpus, n_failures, n_jobs, cause, until } }: { exclusion: NonNullable<Node["exclusion"]> }) {
  const attempts = plural(n_failures, { one: "# attempt", other: "# attempts" });
  const jobs = plural(n_jobs, { one: "# job", other: "# jobs" });
  const label = FAILURE_CAUSES[cause];
  if (gpus.length > 0) return null;
  return (
    <Text size="xs" component="div">
      <Trans>
        {attempts} of {jobs} failed here in a row, the last one by this cause: {label}. It is tried again <RelativeTime at={until} />.
      </Trans>
    </Text>
  );
}

function Occupant({ job, isUsable }: { job: SlotJob | null; isUsable: boolean }) {
  if (job === null) {
    return (
      <Text span size="xs" c="dimmed">
        {isUsable ? t`Free` : t`Unavailable`}
      </Text>
    );
  }
  return (
    <span className={classes.occupant}>
      <JobName job={job} />
      {job.organisation && (
        <Text span size="xs" c="dimmed" truncate dir="auto">
          {job.organisation.name}
        </Text>
      )}
    </span>
  );
}

function GpuUse({ gpu }: { gpu: NonNullable<Node["slots"][number]["gpu"]> }) {
  return (
    <>
      <Text span size="xs" c="dimmed">
        {gpuUse(gpu)}
      </Text>
      {gpu.problem && (
        <Text span size="xs" fw={600}>
          {gpu.problem}
        </Text>
      )}
    </>
  );
}

function JobName({ job }: { job: SlotJob }) {
  if (isOfOthers(job)) {
    return (
      <Text span size="xs" title={t`Taken by a job of another organisation`}>
        {t`another organisation`}
      </Text>
    );
  }
  return (
    <Anchor
      component={Link}
      to={`/jobs/${job.id ?? ""}`}
      size="xs"
      fw={500}
      c="var(--mantine-primary-color-light-color)"
      truncate
      dir="auto"
      title={job.name ?? undefined}
    >
      {job.name ?? t`A job`}
    </Anchor>
  );
}

function holderOf(job: SlotJob | null): "free" | "others" | "named" {
  if (job === null) return "free";
  return isOfOthers(job) ? "others" : "named";
}
