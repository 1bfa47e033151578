// Why a job is where it is: the headline reason, the others, and the numbers behind each.
import { Alert, List, Text } from "@mantine/core";

import type { Explanation, Job, JobState } from "@/api/types";
import { factsOf } from "@/features/jobs/format";

const TITLES: Record<JobState, string | null> = {
  queued: "Why it waits",
  starting: null,
  running: null,
  stopping: null,
  paused: "It is paused",
  succeeded: null,
  failed: null,
  cancelled: null,
};

export function StatusCard({ job }: { job: Job }) {
  const title = titleOf(job);
  if (title === null) return null;
  const [headline, ...others] = job.state === "queued" ? job.explanations : [];
  return (
    <Alert role="status" color={job.state === "queued" ? "blue" : "yellow"} title={title}>
      <Text size="sm" fw={500}>
        {headline?.sentence ?? fallback(job)}
      </Text>
      {headline && <FactsLine explanation={headline} />}
      {others.length > 0 && (
        <List size="sm" mt="xs" aria-label="Further reasons">
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
    if (job.intent === "cancel") return "It is being cancelled";
    return job.intent === "pause" ? "It is being paused" : "It is giving its GPUs back";
  }
  return TITLES[job.state];
}

function fallback(job: Job): string {
  if (job.state === "paused") return "Resume it to queue it again; it continues from its newest checkpoint.";
  if (job.state === "stopping") return "Its pods are saving a checkpoint and leaving.";
  if (job.preflight === "pending") return "The model and data are being tried out; that takes some seconds.";
  return "The scheduler has not looked at it yet; that takes some seconds.";
}

function FactsLine({ explanation }: { explanation: Explanation }) {
  const facts = factsOf(explanation.facts);
  if (facts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {facts.map(([name, value]) => `${name}: ${value}`).join(" · ")}
    </Text>
  );
}
