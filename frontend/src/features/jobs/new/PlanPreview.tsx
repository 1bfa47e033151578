// Before a job is submitted: when the scheduler expects it to start and end, and what it would run on.
import { Alert, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { whatIf } from "@/api/scheduler";
import type { JobSubmit, WhatIfAnswer } from "@/api/types";
import { modeLabel } from "@/domain/mode";
import { count } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

const TITLE = "If you start it now";

const BASES: Record<string, string> = {
  measured: "Jobs like it were measured.",
  tried_out: "Its speed was tried out; how it scales is a guess.",
  guessed: "Nothing is known of jobs like it yet: this is a rough guess.",
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
  // what is wrong with the request is said when it is sent
  if (request === null || answer.data === undefined || answer.error !== null) return null;
  return <Told answer={answer.data} />;
}

function Told({ answer }: { answer: WhatIfAnswer }) {
  const own = answer.effects.find(({ role }) => role === "submitted")?.after;
  if (!own) return null;
  const later = answer.effects.filter(({ role, finish_delta_s: delta }) => role === "other" && (delta ?? 0) > 0);
  return (
    <Alert role="status" color="blue" title={TITLE} aria-label={TITLE}>
      <Text size="sm" fw={500}>
        {start(own, answer.as_of)} {finish(own)}
      </Text>
      {own.decision === "wait" && <Text size="sm">{own.explanations[0]?.sentence}</Text>}
      <Text size="xs" c="dimmed" mt={4}>
        {BASES[answer.basis] ?? ""}
        {later.length > 0 && ` ${count(later.length, "job")} of yours would end later by it.`}
      </Text>
    </Alert>
  );
}

type After = NonNullable<WhatIfAnswer["effects"][number]["after"]>;

function start(own: After, asOf: string): string {
  if (own.decision !== "wait") return `It starts at once: ${modeLabel(own.mode)}, ${count(own.n_workers, "GPU")}.`;
  if (own.start_at === null) return "Its start cannot be foretold.";
  return `It waits about ${duration((Date.parse(own.start_at) - Date.parse(asOf)) / 1000)}.`;
}

function finish(own: After): string {
  if (own.finish_at === null) return "";
  const p90 = own.finish_p90_at === null ? "" : `, by ${clock(own.finish_p90_at)} in nine cases of ten`;
  return `Expected finish ${clock(own.finish_at)}${p90}.`;
}
