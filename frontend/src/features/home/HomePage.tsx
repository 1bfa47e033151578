// SPDX-License-Identifier: Apache-2.0
// Where one begins: one's own jobs, what is free, and, for new people, the first steps.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { clusterQuery } from "@/api/cluster";
import { seenOrganisations, useMe } from "@/api/session";
import type { Cluster } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { UserLimitBars } from "@/components/display/quota/LimitBars";
import { QueryResult } from "@/components/feedback/QueryResult";
import { UnfinishedUploads } from "@/components/form/upload/UnfinishedUploads";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { freeGpus } from "@/domain/scheduling/freeGangs";
import { capacityOf } from "@/domain/scheduling/capacity";
import { number } from "@/lib/quantities";
import { duration } from "@/lib/time";

import { FirstSteps } from "./FirstSteps";
import { MyJobs, useMyJobs } from "./MyJobs";
import classes from "./HomePage.module.css";
import { OrganisationQuota } from "./QuotaRings";
import { invitationsQuery, myLimitsQuery, waitsQuery } from "./queries";

const MOST_TYPES = 6;
const MOST_QUOTAS = 4;
const MOST_LIMITS = 4; // of an owner: those that are nearest to their end
const MOST_NAMES = 2;

export function HomePage() {
  const me = useMe();
  const organisations = seenOrganisations(me);
  const jobs = useMyJobs();
  const isNew = [jobs.running, jobs.waiting, jobs.over].every(({ data }) => data?.length === 0);
  return (
    <Page
      title={t`Home`}
      actions={
        <Button component={Link} to="/jobs/new">
          {t`New job`}
        </Button>
      }
    >
      <Invitations />
      <UnfinishedUploads catalogue="all" />
      {isNew && <FirstSteps />}
      <div className={classes.columns}>
        <MyJobs {...jobs} />
        <Stack gap="md">
          <ClusterNow />
          {(organisations.length > 0 || me.memberships.length === 0) && (
            <SectionCard title={t`Quota`}>
              <Stack gap="md">
                {me.memberships.length === 0 && (
                  <Text size="sm" c="dimmed">
                    {t`You belong to no organisation yet.`}
                  </Text>
                )}
                {organisations.slice(0, MOST_QUOTAS).map((organisation) => (
                  <OrganisationQuota key={organisation.id} organisation={organisation} />
                ))}
                <MyLimits />
              </Stack>
            </SectionCard>
          )}
        </Stack>
      </div>
    </Page>
  );
}

function Invitations() {
  const waiting = useQuery(invitationsQuery).data ?? [];
  if (waiting.length === 0) return null;
  return (
    <Alert color="blue" title={plural(waiting.length, { one: "# open invitation", other: "# open invitations" })} role="status">
      {namesOf(waiting.map(({ organisation }) => organisation.name))}: <TextLink to="/members">{t`accept or decline`}</TextLink>
    </Alert>
  );
}

/** The first ones by name, the others as a number: it stays one line. */
function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? t`${shown} and ${names.length - MOST_NAMES} more` : shown;
}

/** Where one person may not have all that the organisation, team or project has. */
function MyLimits() {
  const limits = useQuery(myLimitsQuery).data ?? [];
  const shown = limits.slice(0, MOST_QUOTAS).map((quota) => (
    <Stack key={quota.owner} gap={4} component="section" aria-label={t`Your own limits in ${quota.owner_name}`}>
      <Text size="sm" fw={600}>
        {t`Your own limits in ${quota.owner_name}`}
      </Text>
      <UserLimitBars quota={quota} name={quota.owner_name} most={MOST_LIMITS} />
      <Text size="xs" c="dimmed">
        {t`Admins of the organisation can raise them.`}
      </Text>
    </Stack>
  ));
  return (
    <>
      {shown}
      {limits.length > MOST_QUOTAS && <TextLink to="/quotas">{t`All of your limits`}</TextLink>}
    </>
  );
}

/** Where there are several types: how many of each could be had now. */
function FreeByType({ racks }: Pick<Cluster, "racks">) {
  const types = freeGpus({ racks });
  if (types.length < 2) return null;
  return (
    <Group component="ul" gap="sm" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Free GPUs by type`}>
      {types.slice(0, MOST_TYPES).map(({ gpuType, anywhere }) => (
        <Text component="li" size="sm" key={gpuType}>
          {t`${gpuType}: ${number(anywhere)} free`}
        </Text>
      ))}
      {types.length > MOST_TYPES && (
        <Text component="li" size="sm" c="dimmed">
          {t`and ${number(types.length - MOST_TYPES)} more`}
        </Text>
      )}
    </Group>
  );
}

/** It fails apart from the rest: nothing is shown where it is not known. */
function MedianWait() {
  const { data } = useQuery(waitsQuery);
  if (data === undefined) return null;
  if (data.median_s === null) {
    return (
      <Text size="sm" c="dimmed">
        {t`Median wait of the last 24 h: not known, since no job that you see started.`}
      </Text>
    );
  }
  const n = plural(data.n_jobs, { one: "# job", other: "# jobs" });
  return (
    <Text size="sm">
      {data.scope === "visible"
        ? t`Median wait of the last 24 h: ${duration(data.median_s)} (${n} that you see)`
        : t`Median wait of the last 24 h: ${duration(data.median_s)} (${n} of the whole cluster)`}
    </Text>
  );
}

function ClusterNow() {
  const cluster = useQuery(clusterQuery);
  return (
    <SectionCard
      title={t`Cluster`}
      aside={
        <Button size="compact-sm" variant="subtle" component={Link} to="/cluster">
          {t`Map`}
        </Button>
      }
    >
      <QueryResult of={cluster} label={t`Loading the cluster`}>
        {({ racks, backend }) => {
          const { gpus, free, inUse, unavailable } = capacityOf({ racks });
          return (
            <Stack gap={4}>
              <Text size="xl" fw={600}>
                {t`${number(free)} of ${plural(gpus, { one: "# GPU", other: "# GPUs" })} free`}
              </Text>
              <div className={classes.gpus} aria-hidden>
                <span data-kind="in-use" style={{ flexGrow: inUse }} />
                <span data-kind="free" style={{ flexGrow: free }} />
                <span data-kind="unavailable" style={{ flexGrow: unavailable }} />
              </div>
              <Text size="sm" c="dimmed">
                <Trans>
                  {number(inUse)} in use{unavailable > 0 && t` · ${number(unavailable)} unavailable`} ·{" "}
                  {plural(racks.reduce((sum, rack) => sum + rack.nodes.length, 0), { one: "# node", other: "# nodes" })}
                </Trans>
              </Text>
              <FreeByType racks={racks} />
              <MedianWait />
              {backend.away_since !== null && <Text size="sm">{t`The cluster cannot be reached at the moment.`}</Text>}
              <TextLink to="/queue">{t`Who waits, and why`}</TextLink>
            </Stack>
          );
        }}
      </QueryResult>
    </SectionCard>
  );
}
