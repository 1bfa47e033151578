// SPDX-License-Identifier: Apache-2.0
// Someone else changed the quota while one typed: the present rules and one's own, to choose from.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Table, Text } from "@mantine/core";

import type { Problem } from "@/api/client";
import { ScrollTable } from "@/components/table/ScrollTable";
import { ruleName, ruleText } from "@/features/quotas/ruleText";

interface Props {
  problem: Problem;
  onTheirs: () => void;
  /** Saves one's own rules over the version that the problem names; left out where it names none. */
  onMine: (version: number) => void;
}

export function ConflictAlert({ problem, onTheirs, onMine }: Props) {
  const { present, yours, version } = problem.facts;
  return (
    <Alert color="orange" role="alert" title={t`Someone else changed this quota meanwhile`}>
      <Text size="sm">{problem.detail}</Text>
      {isRules(present) && isRules(yours) && (
        <ScrollTable minWidth={320} label={t`Present and own rules`} head={[t`Rule`, t`Present`, t`Yours`]}>
          {Object.keys(yours).map((name) => (
            <Table.Tr key={name}>
              <Table.Td>{ruleName(name)}</Table.Td>
              <Table.Td>{ruleText(present[name])}</Table.Td>
              <Table.Td>{ruleText(yours[name])}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={onTheirs}>
          {t`Load the present values`}
        </Button>
        {typeof version === "number" && (
          <Button size="xs" variant="default" onClick={() => onMine(version)}>
            {t`Save mine over them`}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

function isRules(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
