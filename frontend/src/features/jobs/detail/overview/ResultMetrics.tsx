// SPDX-License-Identifier: Apache-2.0
// The final metrics of a job, and its confusion matrix as a table: a row is a class, a column what it was taken for.
import { t } from "@lingui/core/macro";
import { Table, Title } from "@mantine/core";

import type { Job } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { ScrollTable } from "@/components/table/ScrollTable";
import { type Confusion, confusionIn, isConfusion } from "@/domain/confusion";
import { numbersIn } from "@/features/jobs/format";
import { number } from "@/lib/quantities";

export function ResultMetrics({ job }: { job: Job }) {
  const metrics = numbersIn(job.result_metrics);
  const confusion = confusionIn(metrics);
  const plain = metrics.filter(([name]) => !isConfusion(name));
  return (
    <>
      <Facts facts={plain.map(([key, value]): Fact => [key, number(value)])} />
      {confusion !== null && <ConfusionTable confusion={confusion} />}
    </>
  );
}

function ConfusionTable({ confusion: { classes, counts } }: { confusion: Confusion }) {
  return (
    <>
      <Title order={3} size="h6" mt="md" mb="xs">
        {t`Confusion matrix`}
      </Title>
      <ScrollTable label={t`Confusion matrix`} head={[t`Class`, ...classes.map((name) => t`as ${name}`)]} minWidth={320}>
        {classes.map((name, target) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name}</Table.Th>
            {classes.map((answer, place) => (
              <Table.Td key={answer} fw={place === target ? 700 : 400}>
                {number(counts[target]?.[place] ?? 0)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </ScrollTable>
    </>
  );
}
