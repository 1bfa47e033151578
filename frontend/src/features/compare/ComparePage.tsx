// SPDX-License-Identifier: Apache-2.0
// Up to a thousand jobs, and runs from elsewhere, next to each other: curves, what differs, and pictures of settings against results. All of it is in the address.
import { plural, t } from "@lingui/core/macro";
import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Link, useLocation, useSearchParams } from "react-router";

import type { RunDetail } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { lazyComponent } from "@/lib/chunk";

import { CurvesSection, countOf } from "./CurvesSection";
import { DifferencesTable } from "./DifferencesTable";
import { MOST_JOBS, comparedJobsQuery } from "./queries";
import { MOST_RUNS, comparedRunsQuery } from "./runs";
import { rowOfJob, rowOfRun } from "./settings";
import { useSetting } from "./useSetting";

const RunChoice = lazyComponent(async () => (await import("./RunChoice")).RunChoice);
const DifferenceSection = lazyComponent(
  async () => (await import("./difference/DifferenceSection")).DifferenceSection,
);

const PicturesSection = lazyComponent(async () => (await import("./pictures/PicturesSection")).PicturesSection);

const PICTURES_HEIGHT = 900;
const NONE: readonly RunDetail[] = [];

export function ComparePage() {
  const [search] = useSearchParams();
  const { hash } = useLocation();
  const text = search.get("jobs") ?? new URLSearchParams(hash.slice(1)).get("jobs") ?? "";
  const ids = useMemo(() => [...new Set(text.split(",").filter((id) => id !== ""))], [text]);
  const shown = useMemo(() => ids.slice(0, MOST_JOBS), [ids]);
  const jobs = useQuery(comparedJobsQuery(shown));
  const [runText, setRuns] = useSetting("runs", "");
  const runIds = useMemo(() => [...new Set(runText.split(",").filter((id) => id !== ""))].slice(0, MOST_RUNS), [runText]);
  const runs = useQuery(comparedRunsQuery(runIds));
  const compared = useMemo(
    () => [...(jobs.data ?? []).map(rowOfJob), ...(runs.data ?? []).map(rowOfRun)],
    [jobs.data, runs.data],
  );
  const [baseline, setBaseline] = useSetting("baseline", "");
  const [first, second] = jobs.data ?? [];
  const back = <BackLink to="/jobs">{t`Jobs`}</BackLink>;
  if (shown.length === 0 && runIds.length === 0) {
    return (
      <Page title={t`Compare`} back={back}>
        <EmptyState
          title={t`No jobs to compare`}
          text={t`Select jobs in the list of jobs, or runs in the list of runs, then choose Compare.`}
          action={
            <Button component={Link} to="/jobs">
              {t`Select jobs`}
            </Button>
          }
        />
      </Page>
    );
  }
  const left = ids.length - shown.length;
  return (
    <Page
      title={t`Compare`}
      back={back}
      isWide
      subtitle={`${countOf(shown.length, runIds.length)}${left > 0 ? t`; ${plural(left, { one: "# more job", other: "# more jobs" })} left out` : ""}`}
    >
      <QueryResult of={jobs} label={t`Loading the jobs`}>
        {(found) => (
          <>
            <Suspense fallback={null}>
              <RunChoice chosen={runs.data ?? NONE} onChange={(chosen) => setRuns(chosen.join(","))} />
            </Suspense>
            <ProblemAlert error={runs.error} onRetry={() => void runs.refetch()} />
            <CurvesSection ids={shown} compared={compared} runs={runs.data ?? NONE} baseline={baseline} />
            <Section title={t`What differs`}>
              <DifferencesTable compared={compared} baseline={baseline} onBaseline={setBaseline} />
            </Section>
            {first && second && found.length === 2 && runIds.length === 0 && (
              <Suspense fallback={null}>
                <DifferenceSection before={first} after={second} />
              </Suspense>
            )}
            <Suspense fallback={<Skeleton h={PICTURES_HEIGHT} />}>
              <PicturesSection compared={compared} baseline={baseline} />
            </Suspense>
          </>
        )}
      </QueryResult>
    </Page>
  );
}
