// SPDX-License-Identifier: Apache-2.0
// What a job runs on, and how long it has taken so far.
import { plural, t } from "@lingui/core/macro";

import type { Attempt, Job } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SectionCard } from "@/components/layout/Section";
import { shapeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

export function ResourcesCard({ job }: { job: Job }) {
  const attempt = job.current_attempt;
  const facts: Fact[] = [
    [t`Workers`, shapeOf(job)],
    [t`Placement`, attempt === null || attempt.ended_at !== null ? t`no GPU now` : placement(attempt)],
    [t`Submitted`, <RelativeTime key="s" at={job.submitted_at} />],
    [job.kind === "notebook" ? t`First answer` : t`First step`, <RelativeTime key="f" at={job.started_at} />],
    [job.kind === "notebook" ? t`Until the first answer` : t`Until the first step`, duration(job.waited_s)],
    [job.kind === "train" ? t`Trained` : t`Computed`, duration(job.trained_s)],
    [t`Completion time`, duration(job.jct_s)],
  ];
  if (attempt !== null) facts.push([t`Attempt`, `#${attempt.number}`]);
  return (
    <SectionCard title={t`Resources`}>
      <Facts facts={facts} cols={2} />
    </SectionCard>
  );
}

/** "node-a: GPU 0, 1" and where servers run. */
function placement(attempt: Attempt): string {
  if (attempt.placement.length === 0) return "–";
  return attempt.placement
    .map(({ node, slots, n_servers }) => {
      const parts = [];
      if (slots.length > 0) parts.push(t`GPU ${slots.join(", ")}`);
      if (n_servers > 0) parts.push(plural(n_servers, { one: "# server", other: "# servers" }));
      return `${node}: ${parts.join(" + ")}`;
    })
    .join("; ");
}
