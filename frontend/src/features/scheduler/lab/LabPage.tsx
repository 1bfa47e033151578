// SPDX-License-Identifier: Apache-2.0
// The policy lab, for administrators: what a day would have been like under other policies; the list of what was tried.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { isStaff, useMe } from "@/api/session";
import type { Replay } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { AdministratorsOnly } from "@/components/feedback/AdministratorsOnly";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section, SectionCard } from "@/components/layout/Section";
import { PagedTable } from "@/components/table/PagedTable";
import { useFilters } from "@/components/table/useFilters";
import { REPLAY_STATES } from "@/domain/scheduling/replayState";
import { percent } from "@/lib/quantities";

import { settingsQuery } from "../queries";
import { NewReplayForm } from "./NewReplayForm";
import { replaysQuery } from "./queries";
import { sourceOf, titleOf } from "./replayText";

export function LabPage() {
  const me = useMe();
  return (
    <Page
      title={t`Policy lab`}
      subtitle={t`Simulates a past period, or a trace, under other policies. Nothing that runs is changed by it.`}
      back={<BackLink to="/scheduler">{t`Scheduler`}</BackLink>}
    >
      {isStaff(me) ? <Lab /> : <AdministratorsOnly text={t`The queue shows why your jobs are pending.`} to="/queue" page={t`Queue`} />}
    </Page>
  );
}

function Lab() {
  const { filters, turn } = useFilters([]);
  const settings = useQuery(settingsQuery);
  const replays = useQuery(replaysQuery(filters.cursor));
  return (
    <>
      <SectionCard title={t`New comparison`}>
        <QueryResult of={settings}>{(found) => <NewReplayForm settings={found} />}</QueryResult>
      </SectionCard>
      <Section title={t`Comparisons`}>
        <PagedTable
          list={replays}
          label={t`Comparisons`}
          head={[t`Name`, t`Policies`, t`State`, t`Created`]}
          empty={<EmptyState title={t`No comparisons yet`} text={t`Choose a policy above and compare it with the one that ran in the last day.`} />}
          row={(replay) => <Row key={replay.id} replay={replay} />}
          onCursor={turn}
        />
      </Section>
    </>
  );
}

function Row({ replay }: { replay: Replay }) {
  const { progress } = replay;
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <TextLink to={`/scheduler/lab/${replay.id}`}>{titleOf(replay)}</TextLink>
        {replay.name && (
          <Text size="xs" c="dimmed">
            {sourceOf(replay)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{replay.policies.map(({ name }) => name).join(", ")}</Table.Td>
      <Table.Td style={{ minWidth: 110 }}>
        <StateBadge {...REPLAY_STATES[replay.state]} />
        {progress !== null && (
          <Text size="xs" c="dimmed">
            {progress.policy} {percent(progress.n_done / Math.max(1, progress.n_jobs))}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <span>
          <RelativeTime at={replay.created_at} />
          {replay.created_by && t` by ${replay.created_by}`}
        </span>
      </Table.Td>
    </Table.Tr>
  );
}
