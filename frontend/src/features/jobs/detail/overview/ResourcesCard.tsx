// SPDX-License-Identifier: Apache-2.0
// What a job runs on, and how long it has taken so far.
import type { Attempt, Job } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SectionCard } from "@/components/layout/Section";
import { shapeOf } from "@/features/jobs/format";
import { duration } from "@/lib/time";

export function ResourcesCard({ job }: { job: Job }) {
  const attempt = job.current_attempt;
  const facts: Fact[] = [
    ["Workers", shapeOf(job)],
    ["Placement", attempt === null || attempt.ended_at !== null ? "no GPU now" : placement(attempt)],
    ["Submitted", <RelativeTime key="s" at={job.submitted_at} />],
    ["First step", <RelativeTime key="f" at={job.started_at} />],
    ["Pending", duration(job.waited_s)],
    [job.kind === "train" ? "Trained" : "Computed", duration(job.trained_s)],
    ["Completion time", duration(job.jct_s)],
  ];
  if (attempt !== null) facts.push(["Attempt", `#${attempt.number}`]);
  return (
    <SectionCard title="Resources">
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
      if (slots.length > 0) parts.push(`GPU ${slots.join(", ")}`);
      if (n_servers > 0) parts.push(`${n_servers} server${n_servers === 1 ? "" : "s"}`);
      return `${node}: ${parts.join(" + ")}`;
    })
    .join("; ");
}
