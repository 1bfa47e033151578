// SPDX-License-Identifier: Apache-2.0
// Before a job is submitted: when the scheduler predicts it to start and finish, and what it would run on.
import { Alert, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { whatIf } from "@/api/scheduler";
import type { JobSubmit, WhatIfAnswer } from "@/api/types";
import { modeLabel } from "@/domain/mode";
import { meaningfulStart } from "@/domain/pendingJob";
import { count } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

const TITLE = "If you start it now";

/** What a prediction rests on, by the API's `basis`. */
const BASES: Record<string, string> = {
  measured: "Based on measurements of jobs like it.",
  tried_out: "Based on its speed in validation; how it scales is an estimate.",
  guessed: "No job like it was measured yet: this is a rough estimate.",
};

/** request: null while the form is not complete. */
export function PlanPreview({ request }: { request: JobSubmit | null }) {
  const answer = useQuery({
    queryKey: ["what-if", request],
    queryFn: () => whatIf({ submit: request ?? undefined }),
    enabled: request !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
  // what is wrong with the request is shown when it is submitted
  if (request === null || answer.data === undefined || answer.error !== null) return null;
  return <Plan answer={answer.data} />;
}

function Plan({ answer }: { answer: WhatIfAnswer }) {
  const own = answer.effects.find(({ role }) => role === "submitted")?.after;
  if (!own) return null;
  const later = answer.effects.filter(({ role, finish_delta_s: delta }) => role === "other" && (delta ?? 0) > 0);
  return (
    <Alert role="status" color="blue" title={TITLE} aria-label={TITLE}>
      <Text size="sm" fw={500}>
        {startText(own, answer.as_of)} {finishText(own, answer.as_of)}
      </Text>
      {own.decision === "wait" && <Text size="sm">{own.explanations[0]?.sentence}</Text>}
      <Text size="xs" c="dimmed" mt={4}>
        {BASES[answer.basis] ?? ""}
        {later.length > 0 && ` ${count(later.length, "job")} of yours would finish later.`}
      </Text>
    </Alert>
  );
}

type Outcome = NonNullable<WhatIfAnswer["effects"][number]["after"]>;

function startText(own: Outcome, asOf: string): string {
  if (own.decision !== "wait") return `It starts immediately: ${modeLabel(own.mode)}, ${count(own.n_workers, "GPU")}.`;
  const start_at = meaningfulStart(own.start_at, Date.parse(asOf));
  if (start_at === null) return "It stays pending; when it can start is not known.";
  return `It is pending for about ${duration((Date.parse(start_at) - Date.parse(asOf)) / 1000)}.`;
}

function finishText(own: Outcome, asOf: string): string {
  const canStart = own.decision !== "wait" || meaningfulStart(own.start_at, Date.parse(asOf)) !== null;
  if (own.finish_at === null || !canStart) return "";
  const p90 = own.finish_p90_at === null ? "" : `, by ${clock(own.finish_p90_at)} in nine cases of ten`;
  return `Predicted finish ${clock(own.finish_at)}${p90}.`;
}
