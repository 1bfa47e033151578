// SPDX-License-Identifier: Apache-2.0
// The final metrics of a job, and its confusion matrix as a table: a row is a class, a column what it was taken for.
import { t } from "@lingui/core/macro";
import { Group, Table, Title } from "@mantine/core";
import { useRef } from "react";

import type { Job } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { type Fact, Facts } from "@/components/display/Facts";
import { ScrollTable } from "@/components/table/ScrollTable";
import { type Confusion, confusionIn, isConfusion } from "@/domain/confusion";
import { numbersIn } from "@/features/jobs/format";
import { csvOf } from "@/lib/download";
import { number } from "@/lib/quantities";

export function ResultMetrics({ job }: { job: Job }) {
  const metrics = numbersIn(job.result_metrics);
  const confusion = confusionIn(metrics);
  const plain = metrics.filter(([name]) => !isConfusion(name));
  return (
    <>
      <Facts facts={plain.map(([key, value]): Fact => [key, number(value)])} />
      {confusion !== null && <ConfusionTable confusion={confusion} of={job.name} />}
    </>
  );
}

function ConfusionTable({ confusion: { classes, counts }, of }: { confusion: Confusion; of: string }) {
  const drawing = useRef<HTMLDivElement>(null);
  const rows = classes.map((name, target) => [name, ...classes.map((_, place) => counts[target]?.[place] ?? 0)]);
  return (
    <div ref={drawing}>
      <Group justify="space-between" mt="md" mb="xs">
        <Title order={3} size="h6">
          {t`Confusion matrix`}
        </Title>
        <FigureMenu name={t`${of}: confusion matrix`} of={drawing} csv={() => csvOf([["class", ...classes], ...rows])} />
      </Group>
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
    </div>
  );
}
