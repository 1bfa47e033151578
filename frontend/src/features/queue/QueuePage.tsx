// SPDX-License-Identifier: Apache-2.0
// The pending jobs in the scheduler's order and why; what-if questions; the rounds, for administrators.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { schedulerStatusQuery } from "@/api/scheduler";
import { isStaff, useMe } from "@/api/session";
import type { SchedulerStatus } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SchedulerAlerts, hasSchedulerProblem } from "@/components/feedback/SchedulerAlerts";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { number } from "@/lib/quantities";

import { QueueTable } from "./QueueTable";
import { Rounds } from "./Rounds";
import { WhatIfForm } from "./WhatIfForm";
import { queueQuery } from "./queries";

export function QueuePage() {
  const me = useMe();
  const status = useQuery(schedulerStatusQuery);
  return (
    <Page title={t`Queue`} subtitle={status.data && <StatusLine status={status.data} />}>
      {status.data && !isStaff(me) && hasSchedulerProblem(status.data) && <SchedulerAlerts status={status.data} />}
      <Section title={t`Pending jobs`}>
        <PendingJobs />
      </Section>
      <Section title={t`What if?`}>
        <WhatIfForm isStaff={isStaff(me)} />
      </Section>
      {isStaff(me) && (
        <Section title={t`Rounds`}>
          <Rounds />
        </Section>
      )}
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
  const [after, setAfter] = useState(0);
  const queue = useQuery(queueQuery(after));
  return (
    <QueryResult of={queue}>
      {({ results, next }) =>
        results.length === 0 && after === 0 ? (
          <EmptyState title={t`No pending jobs`} text={t`Jobs that you may see and that are pending appear here, the next one first.`} />
        ) : (
          <>
            <QueueTable jobs={results} />
            <Group justify="flex-end" gap="xs">
              {after > 0 && (
                <Button size="xs" variant="default" onClick={() => setAfter(0)}>
                  {t`To the front`}
                </Button>
              )}
              {next !== null && (
                <Button size="xs" variant="default" onClick={() => setAfter(results.at(-1)?.place ?? 0)}>
                  {t`Further back`}
                </Button>
              )}
            </Group>
            <Text size="xs" c="dimmed">
              {t`Places count the jobs of all organisations; you see those of yours.`}
            </Text>
          </>
        )
      }
    </QueryResult>
  );
}
