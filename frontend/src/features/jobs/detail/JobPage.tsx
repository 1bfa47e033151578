// SPDX-License-Identifier: Apache-2.0
// One job in tabs, each with its address: its state and progress stay in view, and a tab loads only what it shows.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group } from "@mantine/core";
import { Suspense } from "react";
import { useLocation, useParams } from "react-router";

import type { StreamState } from "@/api/live/stream";
import type { JobDetail } from "@/api/types";
import { JobStateBadge } from "@/components/display/JobStateBadge";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { isOver } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";

import { JobActions } from "./JobActions";
import { liveness } from "./liveness";
import { Overview } from "./overview/Overview";
import { JobTabs } from "./tabs/JobTabs";
import { type TabName, TAB_LABELS, tabOf, tabsOf } from "./tabs/tabs";
import { useLiveJob } from "./useLiveJob";

/** What the other tabs show; the first one needs none of it. */
const Part = lazyComponent(async () => {
  const { PARTS } = await import("./tabs/parts");
  return function Part({ job, tab }: { job: JobDetail; tab: Exclude<TabName, "overview"> }) {
    const Shown = PARTS[tab];
    return <Shown job={job} />;
  };
});

export function JobPage() {
  const { id = "", tab } = useParams();
  const { hash } = useLocation();
  return <LiveJob key={id} id={id} wanted={tabOf(tab, hash)} />;
}

function LiveJob({ id, wanted }: { id: string; wanted: TabName }) {
  const { job, stream, refresh } = useLiveJob(id);
  const back = <BackLink to="/jobs">{t`Jobs`}</BackLink>;
  if (job.data === undefined) {
    return (
      <Page title={t`Job`} back={back}>
        <ProblemAlert error={job.error} onRetry={refresh} />
        {job.isPending && <Loading />}
      </Page>
    );
  }
  const tab = tabsOf(job.data).includes(wanted) ? wanted : "overview";
  return (
    <Page
      title={job.data.name}
      documentTitle={tab === "overview" ? job.data.name : `${job.data.name} · ${TAB_LABELS[tab]}`}
      back={back}
      subtitle={<Subtitle job={job.data} stream={stream} />}
      actions={<JobActions job={job.data} />}
      isWide
    >
      <RoleNeeded organisation={job.data.project.organisation} project={job.data.project} role="submitter" action={t`Pausing, cancelling and cloning jobs`} />
      <JobTabs job={job.data} shown={tab} />
      <div style={{ minHeight: "60vh" }}>
        {tab === "overview" ? (
          <Overview job={job.data} />
        ) : (
          <Suspense key={tab} fallback={<Loading />}>
            <Part job={job.data} tab={tab} />
          </Suspense>
        )}
      </div>
    </Page>
  );
}

function Subtitle({ job, stream }: { job: JobDetail; stream: StreamState }) {
  return (
    <Group gap="xs" component="span">
      <JobStateBadge state={job.state} />
      <span>
        <Trans>
          {job.project.organisation.name} / {job.project.name} · by {job.created_by.username}{" "}
          {!isOver(job) && <span role="status">{liveness(stream)}</span>}
        </Trans>
      </span>
    </Group>
  );
}
