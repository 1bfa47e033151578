// SPDX-License-Identifier: Apache-2.0
// Before a job is submitted: what the scheduler would make of it, what it costs, and what other sizes would gain.
import { plural, t } from "@lingui/core/macro";
import { Alert, List, Paper, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { Problem } from "@/api/client";
import { previewJob } from "@/api/scheduler";
import type { JobPreview, JobSubmit } from "@/api/types";
import { modeLabel } from "@/domain/mode";
import { meaningfulStart } from "@/domain/jobs/pendingJob";
import { number, significant } from "@/lib/quantities";
import { clock, duration, laterClock } from "@/lib/time";

import { PlanBars } from "./PlanBars";

const TITLE = t`If you start it now`;

/** What a prediction rests on, by the API's `basis`. */
const BASES: Record<string, string> = {
  measured: t`Based on measurements of jobs like it.`,
  validated: t`Based on its speed in validation; how it scales is an estimate.`,
  guessed: t`No job like it was measured yet: this is a rough estimate.`,
};

type Run = JobPreview["plan"];
type Alternative = JobPreview["alternatives"][number];

/** request: null while the form is not complete. */
export function PlanPreview({ request }: { request: JobSubmit | null }) {
  const answer = useQuery({
    queryKey: ["job-preview", request],
    queryFn: () => previewJob(request as JobSubmit),
    enabled: request !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
  if (request === null) return <Waiting />;
  if (answer.error !== null) return <Misfit error={answer.error} />;
  if (answer.data === undefined) return null;
  return <Plan preview={answer.data} isOld={answer.isPlaceholderData} />;
}

/** A model that cannot be trained on the dataset; what else is wrong with the request is shown when it is submitted. */
function Misfit({ error }: { error: Error }) {
  const found = error instanceof Problem ? error.errors.find(({ field }) => field === "model") : undefined;
  return found && <Alert color="yellow">{[found.message, found.remedy].filter(Boolean).join(" ")}</Alert>;
}

/** isOld: it is the plan of the settings before, until the scheduler has answered. */
function Plan({ preview, isOld }: { preview: JobPreview; isOld: boolean }) {
  const { plan, as_of, alternatives } = preview;
  return (
    <Paper withBorder p="md" component="section" role="status" aria-label={TITLE} aria-busy={isOld}>
      <Title order={2} size="h5" mb="xs">
        {TITLE}
      </Title>
      {isOld && (
        <Text size="xs" c="dimmed" mb={4}>
          {t`This is for the settings before: the scheduler is being asked again.`}
        </Text>
      )}
      <PlanBars preview={preview} />
      <Text size="sm" fw={500}>
        {startText(plan, as_of)} {finishText(plan, as_of)}
      </Text>
      {plan.decision === "wait" && <Text size="sm">{plan.explanations[0]?.sentence}</Text>}
      <Text size="sm">
        {costText(plan, as_of)} {quotaText(preview)}
      </Text>
      {alternatives.length > 0 && (
        <List size="sm" mt={4} aria-label={t`Alternatives`}>
          {alternatives.map((alternative) => (
            <List.Item key={alternative.goal}>{alternativeText(alternative)}</List.Item>
          ))}
        </List>
      )}
      <Text size="xs" c="dimmed" mt={4}>
        {BASES[preview.basis] ?? ""}
        {preview.n_delayed > 0 && t` ${plural(preview.n_delayed, { one: "# job", other: "# jobs" })} of your organisation would finish later.`}
      </Text>
    </Paper>
  );
}

/** Until there is something to ask the scheduler. */
function Waiting() {
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {t`Choose a dataset and a model: then the scheduler says when the job would start and end, and what it would cost.`}
      </Text>
    </Paper>
  );
}

function startText(plan: Run, asOf: string): string {
  if (plan.decision !== "wait") {
    const place = plan.nodes.length === 0 ? "" : t` on ${plan.nodes.join(", ")}`;
    return t`It starts immediately: ${modeLabel(plan.mode)}, ${plural(plan.n_workers, { one: "# GPU", other: "# GPUs" })} (${plan.gpu_type})${place}.`;
  }
  const start_at = meaningfulStart(plan.start_at, Date.parse(asOf));
  if (start_at === null) return t`It stays pending; when it can start is not known.`;
  const latest = laterClock(plan.start_p90_at, plan.start_at);
  const by = latest === null ? "" : t` (by ${latest} in nine cases of ten)`;
  return t`It is pending for about ${duration((Date.parse(start_at) - Date.parse(asOf)) / 1000)}${by}.`;
}

function hasStart(plan: Run, asOf: string): boolean {
  return plan.decision !== "wait" || meaningfulStart(plan.start_at, Date.parse(asOf)) !== null;
}

function finishText(plan: Run, asOf: string): string {
  if (plan.finish_at === null || !hasStart(plan, asOf)) return "";
  const latest = laterClock(plan.finish_p90_at, plan.finish_at);
  const p90 = latest === null ? "" : t`, by ${latest} in nine cases of ten`;
  return t`Predicted finish ${clock(plan.finish_at)}${p90}.`;
}

function costText(plan: Run, asOf: string): string {
  if (plan.gpu_hours === null || !hasStart(plan, asOf)) return "";
  return t`It takes about ${number(significant(plan.gpu_hours, 2))} GPU-hours.`;
}

function quotaText({ quota }: JobPreview): string {
  if (quota.max_gpus === null) return "";
  return t`With it your organisation requests ${number(quota.used_gpus_with_job)} of its ${plural(quota.max_gpus, { one: "# GPU", other: "# GPUs" })}.`;
}

const GOALS: Record<Alternative["goal"], string> = { earliest: t`Finishes first`, cheapest: t`Costs least` };

/** "Finishes first: 8 GPUs, 5 min 00 s earlier, 0.2 GPU-hours more." */
function alternativeText({ goal, run, finish_delta_s: finish, gpu_hours_delta: hours }: Alternative): string {
  const when = `${duration(Math.abs(finish))} ${finish < 0 ? t`earlier` : t`later`}`;
  const amount = number(significant(Math.abs(hours), 2));
  const cost = hours < 0 ? t`${amount} GPU-hours less` : t`${amount} GPU-hours more`;
  return `${GOALS[goal]}: ${plural(run.n_workers, { one: "# GPU", other: "# GPUs" })}, ${when}, ${cost}.`;
}
