// SPDX-License-Identifier: Apache-2.0
// The latest values of the charts of a page as a table, for keyboards, screen readers and people who copy numbers.
import { t } from "@lingui/core/macro";
import { Table } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";

import { ScrollTable } from "@/components/table/ScrollTable";
import { number } from "@/lib/quantities";
import { summary } from "@/lib/curves/series";

import { MAX_POINTS, type Names, curveQuery } from "./metricQueries";

interface Props {
  id: string;
  names: Names;
  keys: readonly string[];
}

/** The extremes are those of the curves, once their charts have read them. */
export function LatestValues({ id, names, keys }: Props) {
  const curves = useQueries({
    queries: keys.map((key) => ({ ...curveQuery(id, key, MAX_POINTS), enabled: false })),
  });
  return (
    <ScrollTable label={t`Latest values`} head={[t`Metric`, t`Latest`, t`Step`, t`Lowest`, t`Highest`]} minWidth={420}>
          {keys.map((key, place) => {
            const name = names.get(key);
            const values = summary(curves[place]?.data ?? []);
            return (
              <Table.Tr key={key}>
                <Table.Th scope="row" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>{key}</Table.Th>
                <Table.Td>{number(name?.last_value)}</Table.Td>
                <Table.Td>{name?.last_step}</Table.Td>
                <Table.Td>{number(values?.lowest)}</Table.Td>
                <Table.Td>{number(values?.highest)}</Table.Td>
              </Table.Tr>
            );
          })}
    </ScrollTable>
  );
}
