// SPDX-License-Identifier: Apache-2.0
// Why a job is in its state: the main reason, the others, and the numbers behind each; and what a running one has to expect.
import { t } from "@lingui/core/macro";
import { Alert, List, Text } from "@mantine/core";

import type { Explanation, Job, JobState } from "@/api/types";
import { pendingText } from "@/domain/jobs/pendingJob";
import { factsOf } from "@/features/jobs/format";
import { useNow } from "@/lib/time";

const TITLES: Record<JobState, string | null> = {
  queued: t`Why it is pending`,
  starting: null,
  running: null,
  stopping: null,
  paused: t`It is paused`,
  succeeded: null,
  failed: null,
  cancelled: null,
};

const ON_GPUS: ReadonlySet<JobState> = new Set(["starting", "running"]);

export function StatusCard({ job }: { job: Job }) {
  const now = useNow(5);
  const title = titleOf(job);
  const release = ON_GPUS.has(job.state) ? job.explanations.find(({ reason }) => reason === "releases_at_quota_change") : undefined;
  if (release) {
    return (
      <Alert role="status" color="yellow" title={t`It will have to release GPUs`}>
        <Text size="sm">{release.sentence}</Text>
      </Alert>
    );
  }
  if (title === null) return null;
  const [headline, ...others] = job.state === "queued" ? job.explanations : [];
  return (
    <Alert role="status" color={job.state === "queued" ? "blue" : "yellow"} title={title}>
      <Text size="sm" fw={500}>
        {headline?.sentence ?? (job.pause_reason || defaultText(job, now))}
      </Text>
      {headline && <FactsLine explanation={headline} />}
      {others.length > 0 && (
        <List size="sm" mt="xs" aria-label={t`Further reasons`}>
          {others.map((other) => (
            <List.Item key={other.reason}>
              {other.sentence}
              <FactsLine explanation={other} />
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  );
}

function titleOf(job: Job): string | null {
  if (job.state === "stopping") {
    if (job.intent === "cancel") return t`It is being cancelled`;
    return job.intent === "pause" ? t`It is being paused` : t`It is being preempted`;
  }
  return TITLES[job.state];
}

/** Where the scheduler has given no reason. */
function defaultText(job: Job, now: number): string {
  if (job.state === "paused" && job.kind === "notebook") return t`Resume it to put it back into the queue; it goes on with its folder.`;
  if (job.state === "paused") return t`Resume it to put it back into the queue; it continues from its newest checkpoint.`;
  if (job.state === "stopping") return t`Its pods save a checkpoint and end.`;
  return pendingText(job, now);
}

/** Its numbers; words, such as whose quota it is and who raises it, are in the sentence above. */
function FactsLine({ explanation }: { explanation: Explanation }) {
  const facts = factsOf(Object.fromEntries(Object.entries(explanation.facts).filter(([, value]) => typeof value === "number")));
  if (facts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {facts.map(([name, value]) => `${name}: ${value}`).join(" · ")}
    </Text>
  );
}
