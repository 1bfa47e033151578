// SPDX-License-Identifier: Apache-2.0
// Someone else changed meanwhile what one edits here: what there is now and one's own, to choose from.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Table, Text } from "@mantine/core";

import { Problem } from "@/api/client";
import { ScrollTable } from "@/components/table/ScrollTable";

interface Props {
  problem: Problem;
  /** What to call a field, and its value. */
  labels: Record<string, string>;
  textOf?: (field: string, value: unknown) => string;
  onTheirs: () => void;
  /** Sends one's own change again; seen: what there is now, of the same fields. */
  onMine: (seen: Record<string, unknown>) => void;
}

export function BothVersions({ problem, labels, textOf = plainText, onTheirs, onMine }: Props) {
  const { present, yours } = problem.facts;
  if (!isFields(present) || !isFields(yours)) return null;
  return (
    <Alert color="orange" role="alert" title={t`Someone else changed this meanwhile`}>
      <ScrollTable minWidth={280} label={t`Both versions`} head={["", t`Present`, t`Yours`]}>
        {Object.keys(yours).map((field) => (
          <Table.Tr key={field}>
            <Table.Td>{labels[field] ?? field}</Table.Td>
            <Table.Td>{textOf(field, present[field])}</Table.Td>
            <Table.Td>{textOf(field, yours[field])}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={onTheirs}>
          {t`Load the present values`}
        </Button>
        <Button size="xs" variant="default" onClick={() => onMine(present)}>
          {t`Save mine over them`}
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        {t`Nothing of yours is saved yet.`}
      </Text>
    </Alert>
  );
}

/** The problem, where it is that someone else was first. */
export function changedMeanwhile(error: unknown): Problem | undefined {
  return error instanceof Problem && error.code === "changed_meanwhile" ? error : undefined;
}

function plainText(_: string, value: unknown): string {
  if (typeof value === "boolean") return value ? t`yes` : t`no`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
