// SPDX-License-Identifier: Apache-2.0
// The scheduler's decisions on a job, newest first, each with its reasons.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { whyQuery } from "@/api/jobs";
import type { Decision } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ScrollTable } from "@/components/table/ScrollTable";
import { costText } from "@/domain/scheduling/cost";
import { DECISIONS } from "@/domain/scheduling/decision";
import { modeLabel } from "@/domain/mode";
import { sizeOf } from "@/features/jobs/format";
import { clock } from "@/lib/time";

export function DecisionTable({ id }: { id: string }) {
  const why = useQuery(whyQuery(id));
  return (
    <QueryResult of={why}>
      {({ costs, history }) => (
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            <Trans>
              A restart of jobs like it costs {costText(costs.restart)}: stopping {costText(costs.leave)}, repeated work{" "}
              {costText(costs.loss)}, starting {costText(costs.start)}.
            </Trans>
          </Text>
          {history.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t`There was no decision on it yet.`}
            </Text>
          ) : (
            <ScrollTable label={t`Decisions`} head={[t`When`, t`Decision`, t`Reasons`, t`Predicted finish`, t`Policy`]}>
              {history.map((decision) => (
                <Row key={decision.id} decision={decision} />
              ))}
            </ScrollTable>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

function Row({ decision }: { decision: Decision }) {
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={decision.at} />
      </Table.Td>
      <Table.Td>
        {DECISIONS[decision.decision].done}
        {decision.n_workers > 0 && (
          <Text size="xs" c="dimmed">
            {modeLabel(decision.mode)} · {sizeOf(decision)} · {decision.nodes.join(", ")}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        {decision.explanations.map(({ reason, sentence }) => (
          <Text key={reason} size="sm">
            {sentence}
          </Text>
        ))}
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>{clock(decision.predicted_finish_at)}</Table.Td>
      <Table.Td>
        {decision.policy}
        {decision.round !== null && (
          <Text size="xs" c="dimmed">
            {t`round ${decision.round}`}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
