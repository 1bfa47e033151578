// SPDX-License-Identifier: Apache-2.0
// Where the attempts of a job ran: a block a node, a cell a GPU, and the parameter servers; the newest attempt first.
import { plural, t } from "@lingui/core/macro";
import { Group, Stack, Text } from "@mantine/core";

import type { Attempt, JobDetail } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { EmptyState } from "@/components/feedback/EmptyState";
import { SectionCard } from "@/components/layout/Section";
import { modeLabel } from "@/domain/mode";
import { sizeOf } from "@/features/jobs/format";

import { tabAddress } from "../tabs/tabs";
import classes from "./PlacementTab.module.css";

export function PlacementTab({ job }: { job: JobDetail }) {
  const attempts = job.attempts.filter(({ placement }) => placement.length > 0).sort((a, b) => b.number - a.number);
  if (attempts.length === 0) {
    return (
      <EmptyState
        title={t`It has run nowhere yet`}
        text={t`The nodes and GPUs of each attempt are shown here.`}
        action={<TextLink to={tabAddress(job.id, "why")}>{t`Why it waits`}</TextLink>}
      />
    );
  }
  return (
    <Stack gap="md">
      {attempts.map((attempt) => (
        <AttemptPlace key={attempt.id} attempt={attempt} jobId={job.id} />
      ))}
    </Stack>
  );
}

function AttemptPlace({ attempt, jobId }: { attempt: Attempt; jobId: string }) {
  const isNow = attempt.ended_at === null;
  return (
    <SectionCard
      title={t`Attempt ${attempt.number}`}
      aside={isNow && <TextLink to={`/cluster?job=${jobId}`}>{t`Show it on the cluster's map`}</TextLink>}
    >
      <Text size="sm" c="dimmed" mb="xs">
        {modeLabel(attempt.mode)} · {sizeOf(attempt)} · {isNow ? t`now` : <RelativeTime at={attempt.ended_at} />}
      </Text>
      <Group component="ul" gap="sm" className={classes.nodes} aria-label={t`Nodes of attempt ${attempt.number}`}>
        {attempt.placement.map(({ node, slots, n_servers }) => (
          <li key={node} className={classes.node}>
            <Text size="sm" fw={600} truncate title={node}>
              {node}
            </Text>
            <div className={classes.cells}>
              {slots.map((slot) => (
                <span key={slot} className={classes.gpu} data-now={isNow || undefined} title={t`GPU ${slot}`}>
                  {slot}
                </span>
              ))}
              {Array.from({ length: n_servers }, (_, index) => (
                <span key={`server ${index}`} className={classes.server} title={t`Parameter server`}>
                  S
                </span>
              ))}
            </div>
            <Text size="xs" c="dimmed">
              {contents(slots.length, n_servers)}
            </Text>
          </li>
        ))}
      </Group>
    </SectionCard>
  );
}

function contents(nGpus: number, nServers: number): string {
  const parts = [];
  if (nGpus > 0) parts.push(plural(nGpus, { one: "# GPU", other: "# GPUs" }));
  if (nServers > 0) parts.push(plural(nServers, { one: "# parameter server", other: "# parameter servers" }));
  return parts.join(", ");
}
