// SPDX-License-Identifier: Apache-2.0
// The answer to "what if": who would start and end earlier or later, and what would be decided now.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Stack, Table, Text } from "@mantine/core";

import type { Effect, WhatIfAnswer } from "@/api/types";
import { OvercommittedAlert } from "@/components/display/quota/OvercommittedAlert";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { DECISIONS } from "@/domain/scheduling/decision";
import { number } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

type Outcome = Effect["after"];

export function WhatIfResult({ answer }: { answer: WhatIfAnswer }) {
  const { effects } = answer;
  return (
    <Stack gap="xs" role="status">
      <Text size="sm" fw={500}>
        {headline(effects)}
      </Text>
      {effects.length > 0 && (
        <ScrollTable label={t`Effects`} head={[t`Job`, t`Now`, t`Then`, t`Start`, t`Finish`]} minWidth={760}>
          {effects.map((effect) => (
            <Table.Tr key={effect.id}>
              <Table.Td>
                {effect.role === "submitted" ? effect.name : <TextLink to={`/jobs/${effect.id}`}>{effect.name}</TextLink>}
              </Table.Td>
              <Table.Td>{outcomeText(effect.before)}</Table.Td>
              <Table.Td>
                {outcomeText(effect.after)}
                {effect.after?.decision === "wait" && (
                  <Text size="xs" c="dimmed">
                    {effect.after.explanations[0]?.sentence}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>{timeWithShift(effect.after?.start_at, effect.start_delta_s)}</Table.Td>
              <Table.Td>{timeWithShift(effect.after?.finish_at, effect.finish_delta_s)}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
      <OvercommittedAlert found={answer.overcommitted} isSupposed />
      <Text size="xs" c="dimmed">
        <Trans>
          The policy {answer.policy} simulated {plural(answer.n_jobs, { one: "# job", other: "# jobs" })} with and without the change, in{" "}
          {number(Math.round(answer.decide_ms))} ms. Nothing was changed.
        </Trans>
      </Text>
    </Stack>
  );
}

/** "1 job would finish earlier, 2 later." */
function headline(effects: Effect[]): string {
  const others = effects.filter(({ role }) => role !== "cancelled");
  const earlier = others.filter(({ finish_delta_s: delta }) => delta !== null && delta < 0).length;
  const later = others.filter(({ finish_delta_s: delta }) => delta !== null && delta > 0).length;
  if (earlier + later === 0) return t`None of your other jobs would finish at another time.`;
  return t`${plural(earlier, { one: "# job", other: "# jobs" })} would finish earlier, ${number(later)} later.`;
}

function outcomeText(outcome: Outcome): string {
  if (outcome === null) return t`does not exist`;
  const { hypothetical } = DECISIONS[outcome.decision];
  return outcome.n_workers > 0 && outcome.decision !== "preempt"
    ? `${hypothetical}, ${plural(outcome.n_workers, { one: "# GPU", other: "# GPUs" })}`
    : hypothetical;
}

/** "14:05 (3 min 00 s earlier)". */
function timeWithShift(at: string | null | undefined, delta_s: number | null): string {
  if (!at) return "–";
  if (delta_s === null || Math.abs(delta_s) < 1) return clock(at);
  return `${clock(at)} (${duration(Math.abs(delta_s))} ${delta_s < 0 ? t`earlier` : t`later`})`;
}
