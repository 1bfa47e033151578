// SPDX-License-Identifier: Apache-2.0
// Before a job is submitted: what the scheduler would make of it, what it costs, and what other sizes would gain.
import { plural, t } from "@lingui/core/macro";
import { Alert, Paper, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { Problem } from "@/api/client";
import { previewJob } from "@/api/scheduler";
import type { JobPreview, JobSubmit, PlannedJob } from "@/api/types";
import { useFilters } from "@/components/table/useFilters";
import { modeLabel } from "@/domain/mode";
import { meaningfulStart } from "@/domain/jobs/pendingJob";
import { number, significant } from "@/lib/quantities";
import { clock, duration, laterClock } from "@/lib/time";

import { PlanBars } from "./PlanBars";
import { PlanGoals } from "./PlanGoals";

const TITLE = t`If you start it now`;

/** What a prediction rests on, by the API's `basis`. */
const BASES: Record<string, string> = {
  measured: t`Based on measurements of jobs like it.`,
  validated: t`Based on its speed in validation; how it scales is an estimate.`,
  guessed: t`No job like it was measured yet: this is a rough estimate.`,
};

type Run = JobPreview["plan"];

const NAMES = ["by"] as const;

interface Props {
  /** null while the form is not complete. */
  request: JobSubmit | null;
  /** The number of workers when the form fixes it. */
  size: number | null;
  /** null: MLHub chooses. */
  onSize: (size: number | null) => void;
}

export function PlanPreview({ request, size, onSize }: Props) {
  const { filters, filter } = useFilters(NAMES);
  const by = timeOf(filters.by);
  const planned: PlannedJob | null = request && { ...request, ...(by && { finish_by: by }) };
  const answer = useQuery({
    queryKey: ["job-preview", planned],
    queryFn: () => previewJob(planned as PlannedJob),
    enabled: planned !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
  if (request === null) return <Waiting />;
  const late = atField(answer.error, "finish_by");
  if (answer.error !== null && late === undefined) return <Misfit error={answer.error} />;
  if (answer.data === undefined && late === undefined) return null;
  const goals = { by: filters.by ?? "", onBy: (value: string) => filter("by", value), error: late?.message, size, onSize };
  return (
    <Paper withBorder p="md" component="section" aria-label={TITLE} aria-busy={answer.isPlaceholderData}>
      {answer.data && <Plan preview={answer.data} isOld={answer.isPlaceholderData} />}
      <PlanGoals {...goals} finishBy={by} preview={answer.isPlaceholderData ? undefined : answer.data} />
    </Paper>
  );
}

/** As the API takes it; undefined where the address says nothing that can be read. */
function timeOf(local: string | undefined): string | undefined {
  const time = local === undefined ? Number.NaN : Date.parse(local);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

function atField(error: Error | null, field: string) {
  return error instanceof Problem ? error.errors.find((one) => one.field === field) : undefined;
}

/** A model that cannot be trained on the dataset; what else is wrong with the request is shown when it is submitted. */
function Misfit({ error }: { error: Error }) {
  const found = atField(error, "model");
  return found && <Alert color="yellow">{[found.message, found.remedy].filter(Boolean).join(" ")}</Alert>;
}

/** isOld: it is the plan of the settings before, until the scheduler has answered. */
function Plan({ preview, isOld }: { preview: JobPreview; isOld: boolean }) {
  const { plan, as_of } = preview;
  return (
    <div role="status">
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
      <Text size="xs" c="dimmed" mt={4}>
        {BASES[preview.basis] ?? ""}
        {preview.n_delayed > 0 && t` ${plural(preview.n_delayed, { one: "# job", other: "# jobs" })} of your organisation would finish later.`}
      </Text>
    </div>
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
