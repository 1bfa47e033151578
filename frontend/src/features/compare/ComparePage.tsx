// SPDX-License-Identifier: Apache-2.0
// Up to a thousand jobs, and runs from elsewhere, next to each other: curves, what differs, and pictures of settings against results. All of it is in the address.
import { plural, t } from "@lingui/core/macro";
import { Button, Skeleton, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, useDeferredValue, useMemo, useState } from "react";
import { Link } from "react-router";

import { choicesQuery, runChoices } from "@/api/choices";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { WhenSeen } from "@/components/layout/WhenSeen";
import { lazyComponent } from "@/lib/chunk";

import { CurvesSection, countOf, useCurvesAhead } from "./CurvesSection";
import { DifferencesTable } from "./DifferencesTable";
import { useLiveJobs } from "./live";
import { type ComparedJob, MOST_JOBS, comparedJobsQuery } from "./queries";
import { type ComparedRuns, MOST_RUNS, comparedRunsQuery } from "./runs";
import { type Compared, rowOfJob, rowOfRun } from "./settings";
import { useIds, useSetting } from "@/components/chart/address/useSetting";

// its search is loaded for those who compare runs
const RunChoice = lazyComponent(async () => (await import("./RunChoice")).RunChoice);
const DifferenceSection = lazyComponent(
  async () => (await import("./difference/DifferenceSection")).DifferenceSection,
);

const PicturesSection = lazyComponent(async () => (await import("./pictures/PicturesSection")).PicturesSection);

const CURVES_HEIGHT = 560;
const PICTURES_HEIGHT = 900;
const TABLE_HEIGHT = 420;
const NO_ROWS: readonly Compared[] = [];
const NO_JOBS: readonly ComparedJob[] = [];
const NO_RUNS: ComparedRuns = { runs: [], metrics: [], nLeftOut: 0 };

export function ComparePage() {
  const [ids] = useIds("jobs");
  const shown = useMemo(() => ids.slice(0, MOST_JOBS), [ids]);
  const jobs = useQuery(comparedJobsQuery(shown));
  const [allRuns, setRuns] = useIds("runs");
  const runIds = useMemo(() => allRuns.slice(0, MOST_RUNS), [allRuns]);
  useCurvesAhead(shown, runIds.length > 0);
  const runs = useQuery({ ...comparedRunsQuery(runIds), placeholderData: keepPreviousData });
  const comparedRuns = useMemo(() => withinOf(runs.data, runIds), [runs.data, runIds]);
  useLiveJobs(shown, jobs.data ?? NO_JOBS);
  const compared = useMemo(
    () => [...(jobs.data ?? []).map(rowOfJob), ...comparedRuns.runs.map(rowOfRun)],
    [jobs.data, comparedRuns],
  );
  // the table and the pictures of a thousand rows are made in small parts, between which the page answers
  const settled = useDeferredValue(compared, NO_ROWS);
  const isSettled = settled.length > 0 || compared.length === 0;
  const newestRuns = useQuery(choicesQuery(runChoices));
  const [isAdding, setAdding] = useState(false);
  const mayAdd = runIds.length === 0 && !isAdding && newestRuns.data !== undefined && newestRuns.data.results.length > 0;
  const [baseline, setBaseline] = useSetting("baseline", "");
  const [first, second] = jobs.data ?? [];
  const back = <BackLink to="/jobs">{t`Jobs`}</BackLink>;
  if (shown.length === 0 && runIds.length === 0) {
    return (
      <Page title={t`Compare`} back={back}>
        <NothingToCompare />
      </Page>
    );
  }
  const left = ids.length - shown.length + allRuns.length - runIds.length;
  const isRead = runs.data !== undefined && !runs.isPlaceholderData;
  const nMissingRuns = isRead ? runIds.length - comparedRuns.runs.length : 0;
  const isNothingThere = jobs.data?.length === 0 && (runIds.length === 0 || (isRead && comparedRuns.runs.length === 0));
  const nMissing = shown.length - (jobs.data ?? shown).length + nMissingRuns;
  return (
    <Page
      title={t`Compare`}
      back={back}
      isWide
      actions={
        mayAdd && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            {t`Add runs from elsewhere`}
          </Button>
        )
      }
      subtitle={`${countOf(shown.length, runIds.length)}${left > 0 ? t`; ${plural(left, { one: "# more", other: "# more" })} left out` : ""}`}
    >
      <QueryResult of={jobs} label={t`Loading the jobs`}>
        {(found) => (
          <>
            {(runIds.length > 0 || isAdding) && (
              <Suspense fallback={null}>
                <RunChoice ids={runIds} compared={comparedRuns.runs} isRead={isRead} isAsked={isAdding} onChange={setRuns} />
              </Suspense>
            )}
            <ProblemAlert error={runs.error} onRetry={() => void runs.refetch()} />
            {nMissing > 0 && (
              <Text size="sm" c="dimmed" role="status">
                {plural(nMissing, {
                  one: "# of those in the address is not there any more, or you may not see it.",
                  other: "# of those in the address are not there any more, or you may not see them.",
                })}
              </Text>
            )}
            {isNothingThere && <NothingToCompare />}
            {!isNothingThere && (
              <>
                <InItsTurn height={CURVES_HEIGHT}>
                  <CurvesSection jobs={found} ids={shown} compared={compared} runIds={runIds} runs={comparedRuns} isLoading={runs.isPending} baseline={baseline} />
                </InItsTurn>
                <Section title={t`What differs`}>
                  {comparedRuns.nLeftOut > 0 && (
                    <Text size="sm" c="dimmed">
                      {t`${plural(comparedRuns.nLeftOut, { one: "# parameter or metric", other: "# parameters and metrics" })} that the fewest of the runs have are left out.`}
                    </Text>
                  )}
                  {isSettled ? <DifferencesTable compared={settled} baseline={baseline} onBaseline={setBaseline} /> : <Skeleton h={TABLE_HEIGHT} />}
                </Section>
                {first && second && found.length === 2 && runIds.length === 0 && (
                  <Suspense fallback={null}>
                    <DifferenceSection before={first} after={second} />
                  </Suspense>
                )}
                <WhenSeen height={PICTURES_HEIGHT}>
                  <Suspense fallback={<Skeleton h={PICTURES_HEIGHT} />}>
                    {isSettled && <PicturesSection compared={settled} baseline={baseline} />}
                  </Suspense>
                </WhenSeen>
              </>
            )}
          </>
        )}
      </QueryResult>
    </Page>
  );
}

function NothingToCompare() {
  return (
    <EmptyState
      title={t`No jobs to compare`}
      text={t`Select jobs in the list of jobs, or runs in the list of runs, then choose Compare.`}
      action={
        <Button component={Link} to="/jobs">
          {t`Select jobs`}
        </Button>
      }
    />
  );
}

/** What is rendered after the rest of the page, in small parts between which the page answers. */
function InItsTurn({ height, children }: { height: number; children: ReactNode }) {
  return useDeferredValue(true, false) ? children : <Skeleton h={height} />;
}

/** Without those that were left out of the address since it was read. */
function withinOf(read: ComparedRuns | undefined, ids: readonly string[]): ComparedRuns {
  if (read === undefined) return NO_RUNS;
  const wanted = new Set(ids);
  return read.runs.every(({ id }) => wanted.has(id)) ? read : { ...read, runs: read.runs.filter(({ id }) => wanted.has(id)) };
}
