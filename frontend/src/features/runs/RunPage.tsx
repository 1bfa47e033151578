// SPDX-License-Identifier: Apache-2.0
// One run from elsewhere: what it was given, its curves and its files.
import { plural, t } from "@lingui/core/macro";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Navigate, useNavigate, useParams } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { canDelete, useMe } from "@/api/session";
import type { RunDetail } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { RunMetrics } from "@/features/runs/RunMetrics";
import { Datasets, Entries, Files } from "@/features/runs/RunParts";
import { RunStatusBadge } from "@/components/display/RunStatusBadge";
import { jobOfRunQuery, runQuery } from "@/features/runs/queries";

const BACK = <BackLink to="/runs">{t`Runs`}</BackLink>;

export function RunPage() {
  const { id = "" } = useParams();
  const me = useMe();
  const run = useQuery(runQuery(id));
  const isMissing = run.error instanceof Problem && run.error.status === 404;
  const job = useQuery({ ...jobOfRunQuery(id), enabled: isMissing });
  if (isMissing && job.data) return <Navigate to={`/jobs/${id}`} replace />;
  if (!run.data) {
    return (
      <Page title={t`Run`} back={BACK}>
        {run.error && !(isMissing && job.isPending) ? <ProblemAlert error={run.error} onRetry={() => void run.refetch()} /> : <Loading />}
      </Page>
    );
  }
  const { name, project, created_by } = run.data;
  const actions = canDelete(me, project, created_by) ? <DeleteRun run={run.data} /> : null;
  return (
    <Page title={name} back={BACK} actions={actions}>
      <Summary run={run.data} />
      <RunMetrics run={run.data} />
      <Entries title={t`Parameters`} id={id} kind="params" n={run.data.n_params} />
      <Entries title={t`Tags`} id={id} kind="tags" n={run.data.n_tags} />
      <Datasets id={id} n={run.data.n_datasets} />
      <Files run={run.data} />
    </Page>
  );
}

function Summary({ run }: { run: RunDetail }) {
  return (
    <Facts
      facts={[
        [t`Status`, <RunStatusBadge key="status" status={run.status} />],
        [t`Project`, run.project.name],
        [t`Logged by`, run.created_by.username],
        [t`Started`, <RelativeTime key="started" at={run.started_at} />],
        [t`Ended`, run.ended_at === null ? "–" : <RelativeTime key="ended" at={run.ended_at} />],
        ...parentOf(run),
      ]}
    />
  );
}

function parentOf({ parent_job }: RunDetail): Fact[] {
  if (!parent_job) return [];
  return [
    [
      t`Job`,
      <TextLink key="job" to={`/jobs/${parent_job}`}>
        {t`The job that started it`}
      </TextLink>,
    ],
  ];
}

function DeleteRun({ run }: { run: RunDetail }) {
  const navigate = useNavigate();
  const queries = useQueryClient();

  async function remove() {
    await unwrap(api.DELETE("/api/v1/runs/{id}", { params: { path: { id: run.id } } }));
    await navigate("/runs");
    queries.removeQueries({ queryKey: ["run", run.id] });
    void queries.invalidateQueries({ queryKey: ["runs"] });
  }

  return (
    <ConfirmButton
      label={t`Delete run`}
      title={t`Delete ${run.name}?`}
      text={t`For good: ${plural(run.n_metrics, { one: "# curve", other: "# curves" })} and ${plural(run.n_artifacts, { one: "# artifact", other: "# artifacts" })}.`}
      action={remove}
    />
  );
}
