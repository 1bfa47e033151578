// SPDX-License-Identifier: Apache-2.0
// Up to a thousand jobs next to each other: curves, what differs, and pictures of settings against results. All of it is in the address.
import { plural, t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Link, useLocation, useSearchParams } from "react-router";

import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { Section } from "@/components/layout/Section";
import { lazyComponent } from "@/lib/chunk";

import { CurvesSection } from "./CurvesSection";
import { DifferencesTable } from "./DifferencesTable";
import { PicturesSection } from "./PicturesSection";
import { MOST_JOBS, comparedJobsQuery } from "./queries";

const DifferenceSection = lazyComponent(
  async () => (await import("./difference/DifferenceSection")).DifferenceSection,
);

export function ComparePage() {
  const [search] = useSearchParams();
  const { hash } = useLocation();
  const text = search.get("jobs") ?? new URLSearchParams(hash.slice(1)).get("jobs") ?? "";
  const ids = useMemo(() => [...new Set(text.split(",").filter((id) => id !== ""))], [text]);
  const shown = useMemo(() => ids.slice(0, MOST_JOBS), [ids]);
  const jobs = useQuery(comparedJobsQuery(shown));
  const [first, second] = jobs.data ?? [];
  const back = <BackLink to="/jobs">{t`Jobs`}</BackLink>;
  if (shown.length === 0) {
    return (
      <Page title={t`Compare`} back={back}>
        <EmptyState
          title={t`No jobs to compare`}
          text={t`Select jobs in the list of jobs, then choose Compare.`}
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
      subtitle={`${plural(shown.length, { one: "# job", other: "# jobs" })}${left > 0 ? t`; ${plural(left, { one: "# more job", other: "# more jobs" })} left out` : ""}`}
    >
      <QueryResult of={jobs} label={t`Loading the jobs`}>
        {(found) => (
          <>
            <CurvesSection ids={shown} jobs={found} />
            <Section title={t`What differs`}>
              <DifferencesTable jobs={found} />
            </Section>
            {first && second && found.length === 2 && (
              <Suspense fallback={null}>
                <DifferenceSection before={first} after={second} />
              </Suspense>
            )}
            <PicturesSection jobs={found} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}
