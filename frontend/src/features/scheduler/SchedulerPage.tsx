// SPDX-License-Identifier: Apache-2.0
// For administrators: which policy decides and with which parameters, its shadow, and how accurate its predictions are.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { isRecord } from "@/api/client";
import { isStaff, useMe } from "@/api/session";
import { AdministratorsOnly } from "@/components/feedback/AdministratorsOnly";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";

import { AdmissionCard } from "./AdmissionCard";
import { Calibration } from "./Calibration";
import { RecentRounds } from "./RecentRounds";
import { RestartCosts } from "./RestartCosts";
import { SettingsForm } from "./SettingsForm";
import { ShadowSummary } from "./ShadowSummary";
import { type Draft, typed } from "./draft";
import { insightQuery, settingsQuery } from "./queries";

export function SchedulerPage() {
  const me = useMe();
  if (!isStaff(me)) {
    return (
      <Page title={t`Scheduler`}>
        <AdministratorsOnly text={t`The queue shows why your jobs are pending.`} to="/queue" page={t`Queue`} />
      </Page>
    );
  }
  return <Administration />;
}

function Administration() {
  const settings = useQuery(settingsQuery);
  const insight = useQuery(insightQuery);
  const [search] = useSearchParams();
  return (
    <Page
      title={t`Scheduler`}
      subtitle={t`Changes take effect in the next scheduling round.`}
      actions={
        <Button component={Link} to="/scheduler/lab" variant="default" size="xs">
          {t`Policy lab`}
        </Button>
      }
    >
      <AdmissionCard />
      <QueryResult of={settings}>
        {(found) => <SettingsForm key={found.version} settings={found} proposed={proposedIn(search, found.policies)} />}
      </QueryResult>
      <QueryResult of={insight}>
        {(found) => (
          <>
            <SectionCard title={t`Scheduling rounds of the last hour`}>
              <RecentRounds rounds={found.rounds} />
            </SectionCard>
            {found.shadow !== null && (
              <SectionCard title={t`Shadow policy ${found.shadow.policy}`}>
                <ShadowSummary shadow={found.shadow} />
              </SectionCard>
            )}
            <SectionCard title={t`Prediction accuracy`}>
              <Calibration insight={found} />
            </SectionCard>
            {found.costs.length > 0 && (
              <SectionCard title={t`Restart costs`}>
                <RestartCosts costs={found.costs} />
              </SectionCard>
            )}
          </>
        )}
      </QueryResult>
    </Page>
  );
}

/** A policy that a link to this page proposes; unknown ones are passed over. */
function proposedIn(search: URLSearchParams, known: readonly string[]): Partial<Draft> | undefined {
  const policy = search.get("policy");
  if (policy === null || !known.includes(policy)) return undefined;
  try {
    const found: unknown = JSON.parse(search.get("parameters") ?? "{}");
    return { policy, parameters: isRecord(found) ? typed(found) : {} };
  } catch {
    return { policy, parameters: {} };
  }
}
