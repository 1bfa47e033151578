// For administrators: which policy decides and with which parameters, its shadow, and how well it foretells.
import { useQuery } from "@tanstack/react-query";

import { isStaff, useMe } from "@/api/session";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";

import { Calibration } from "./Calibration";
import { RestartCosts } from "./RestartCosts";
import { SettingsForm } from "./SettingsForm";
import { ShadowSummary } from "./ShadowSummary";
import { insightQuery, settingsQuery } from "./queries";

export function SchedulerPage() {
  const me = useMe();
  if (!isStaff(me)) {
    return (
      <Page title="Scheduler">
        <EmptyState title="This page is for administrators" text="The queue shows why your jobs wait." />
      </Page>
    );
  }
  return <Administration />;
}

function Administration() {
  const settings = useQuery(settingsQuery);
  const insight = useQuery(insightQuery);
  return (
    <Page title="Scheduler" subtitle="Changes count from the next round on, some seconds from now.">
      <QueryResult of={settings}>{(found) => <SettingsForm key={found.version} settings={found} />}</QueryResult>
      <QueryResult of={insight}>
        {({ calibration, ends, costs, shadow }) => (
          <>
            {shadow !== null && (
              <SectionCard title={`What ${shadow.policy} would have done`}>
                <ShadowSummary shadow={shadow} />
              </SectionCard>
            )}
            <SectionCard title="Predictions against what came">
              <Calibration moments={calibration} ends={ends} />
            </SectionCard>
            {costs.length > 0 && (
              <SectionCard title="What a restart costs">
                <RestartCosts costs={costs} />
              </SectionCard>
            )}
          </>
        )}
      </QueryResult>
    </Page>
  );
}
