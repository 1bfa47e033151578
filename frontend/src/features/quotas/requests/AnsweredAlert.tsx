// SPDX-License-Identifier: Apache-2.0
// Someone else answered the request first: both answers, until the reader has seen them.
import { t } from "@lingui/core/macro";
import { Alert, Table, Text } from "@mantine/core";

import type { Problem } from "@/api/client";
import type { QuotaRequest } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";

interface Props {
  problem: Problem;
  labelOf: (state: QuotaRequest["state"]) => string;
  onDismiss: () => void;
}

export function AnsweredAlert({ problem, labelOf, onDismiss }: Props) {
  const { present, yours } = problem.facts;
  return (
    <Alert
      color="orange"
      role="alert"
      title={t`Someone else changed this meanwhile`}
      withCloseButton
      closeButtonLabel={t`Dismiss`}
      onClose={onDismiss}
    >
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {problem.detail}
      </Text>
      {isAnswer(present) && isAnswer(yours) && (
        <ScrollTable minWidth={280} label={t`Both answers`} head={["", t`Present`, t`Yours`]}>
          <Table.Tr>
            <Table.Td>{t`Answer`}</Table.Td>
            <Table.Td>{labelOf(present.state)}</Table.Td>
            <Table.Td>{labelOf(yours.state)}</Table.Td>
          </Table.Tr>
          <Table.Tr>
            <Table.Td>{t`Reason`}</Table.Td>
            <Table.Td>{present.note || "–"}</Table.Td>
            <Table.Td>{yours.note || "–"}</Table.Td>
          </Table.Tr>
        </ScrollTable>
      )}
    </Alert>
  );
}

function isAnswer(value: unknown): value is Pick<QuotaRequest, "state" | "note"> {
  return typeof value === "object" && value !== null && "state" in value && "note" in value;
}
