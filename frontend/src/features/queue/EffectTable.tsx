// SPDX-License-Identifier: Apache-2.0
// The jobs that a simulated change affects: whose they are, what would be decided, who starts and ends when.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";

import type { Effect } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";

import { outcomeText, timeWithShift } from "./effects";

export function EffectTable({ effects }: { effects: Effect[] }) {
  if (effects.length === 0) return null;
  return (
    <ScrollTable label={t`Effects`} head={[t`Job`, t`Now`, t`Then`, t`Start`, t`Finish`]} minWidth={760}>
      {effects.map((effect) => (
        <Table.Tr key={effect.id}>
          <Table.Td>
            {effect.role === "submitted" ? effect.name : <TextLink to={`/jobs/${effect.id}`}>{effect.name}</TextLink>}
            {effect.owner !== "" && (
              <Text size="xs" c="dimmed">
                {t`${effect.owner} of ${effect.organisation}`}
              </Text>
            )}
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
  );
}
