// SPDX-License-Identifier: Apache-2.0
// One comparison: how true the simulation is, then each policy against the one that ran.
import { t } from "@lingui/core/macro";
import { Alert, Group, Progress, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "react-router";

import { isStaff, useMe } from "@/api/session";
import type { ReplayDetail } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { StateBadge } from "@/components/display/StateBadge";
import { AdministratorsOnly } from "@/components/feedback/AdministratorsOnly";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { DownloadButton } from "@/components/form/DownloadButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { REPLAY_STATES } from "@/domain/scheduling/replayState";
import { number } from "@/lib/quantities";

import { DistributionChart } from "./DistributionChart";
import { cancelReplay, replayQuery } from "./queries";
import { OrganisationTable, PolicyTable, WorstHitTable } from "./ReplayTables";
import { recordsText, reproductionText, scopeText, sourceOf, titleOf } from "./replayText";

export function ReplayPage() {
  const me = useMe();
  const { id = "" } = useParams();
  if (!isStaff(me)) {
    return (
      <Page title={t`Policy lab`}>
        <AdministratorsOnly text={t`The queue shows why your jobs are pending.`} to="/queue" page={t`Queue`} />
      </Page>
    );
  }
  return <Comparison id={id} />;
}

function Comparison({ id }: { id: string }) {
  const replay = useQuery(replayQuery(id));
  const found = replay.data;
  return (
    <Page
      title={found ? titleOf(found) : t`Comparison`}
      subtitle={found && <Subtitle replay={found} />}
      back={<BackLink to="/scheduler/lab">{t`Policy lab`}</BackLink>}
      actions={found?.result && <DownloadButton href={`/api/v1/scheduler/replays/${id}/jobs.csv`}>{t`CSV of all jobs`}</DownloadButton>}
    >
      <QueryResult of={replay}>{(shown) => <Outcome replay={shown} />}</QueryResult>
    </Page>
  );
}

function Subtitle({ replay }: { replay: ReplayDetail }) {
  return (
    <Group gap="xs" component="span">
      <StateBadge {...REPLAY_STATES[replay.state]} />
      {replay.name && <span>{sourceOf(replay)}</span>}
    </Group>
  );
}

function Outcome({ replay }: { replay: ReplayDetail }) {
  const { result } = replay;
  if (!REPLAY_STATES[replay.state].isOver) return <Running replay={replay} />;
  if (result === null) {
    return (
      <Alert color={replay.state === "failed" ? "red" : "gray"} icon={<Icon name="alert" />} title={replay.state === "failed" ? t`The comparison failed` : t`The comparison was cancelled`}>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {replay.error || t`It has no figures. Start another one in the policy lab.`}
        </Text>
      </Alert>
    );
  }
  return (
    <>
      <SectionCard title={t`How true the simulation is`}>
        <Text size="sm">{reproductionText(result)}</Text>
        <Text size="xs" c="dimmed" mt="xs">
          {scopeText(result)}
        </Text>
        {recordsText(result) && (
          <Text size="xs" c="dimmed" mt="xs">
            {recordsText(result)}
          </Text>
        )}
      </SectionCard>
      <PolicyTable result={result} />
      <SectionCard title={t`Completion times`}>
        <DistributionChart result={result} />
      </SectionCard>
      <OrganisationTable result={result} />
      <WorstHitTable result={result} isHistory={replay.since !== null} />
    </>
  );
}

function Running({ replay }: { replay: ReplayDetail }) {
  const queries = useQueryClient();

  async function cancel() {
    try {
      await cancelReplay(replay.id);
    } finally {
      await queries.invalidateQueries({ queryKey: ["scheduler"] });
    }
  }

  const { progress } = replay;
  return (
    <SectionCard title={progress ? t`Simulating ${progress.policy}` : t`Waiting for a worker`}>
      <Progress
        value={progress ? (100 * progress.n_done) / Math.max(1, progress.n_jobs) : 0}
        aria-label={t`Progress of this policy`}
        mb="sm"
      />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {progress ? t`${number(progress.n_done)} of ${number(progress.n_jobs)} jobs have ended.` : t`One comparison is simulated at a time.`}
        </Text>
        <ConfirmButton
          label={t`Cancel the comparison`}
          title={t`Cancel the comparison?`}
          text={t`What is simulated so far is lost. It can be begun anew.`}
          action={cancel}
        />
      </Group>
    </SectionCard>
  );
}
