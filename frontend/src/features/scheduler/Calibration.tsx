// SPDX-License-Identifier: Apache-2.0
// How accurate predictions were: the share of jobs that finished by the P90, and the error of the median.
import { Stack, Table, Text } from "@mantine/core";

import type { Insight } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { number, percent } from "@/lib/quantities";
import { duration } from "@/lib/time";

const MOMENTS: Record<string, string> = { submission: "At submission", launch: "At the first start" };

export function Calibration({ moments, ends }: { moments: Insight["calibration"]; ends: Insight["ends"] }) {
  return (
    <Stack gap="sm">
      <ScrollTable label="Calibration" head={["Prediction", "Finished jobs", "By its P90", "Median error", "Bias"]}>
        {moments.map(({ moment, n, within_p90, median_error, median_bias }) => (
          <Table.Tr key={moment}>
            <Table.Td>{MOMENTS[moment] ?? moment}</Table.Td>
            <Table.Td>{number(n)}</Table.Td>
            <Table.Td>{share(within_p90)}</Table.Td>
            <Table.Td>{share(median_error)}</Table.Td>
            <Table.Td>{bias(median_bias)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Text size="xs" c="dimmed">
        Well calibrated: 85 to 95 % of the jobs finish by their P90.
      </Text>
      {ends.length > 0 && (
        <ScrollTable label="Newest finishes" head={["Job", "Prediction", "When", "Predicted", "Actual", "By its P90"]}>
          {ends.map((end) => (
            <Table.Tr key={`${end.job.id} ${end.moment}`}>
              <Table.Td>
                <TextLink to={`/jobs/${end.job.id}`}>{end.job.name}</TextLink>
              </Table.Td>
              <Table.Td>{MOMENTS[end.moment] ?? end.moment}</Table.Td>
              <Table.Td>
                <RelativeTime at={end.made_at} />
              </Table.Td>
              <Table.Td>{duration(end.predicted_s)}</Table.Td>
              <Table.Td>{duration(end.actual_s)}</Table.Td>
              <Table.Td>{end.within_p90 === null ? "–" : end.within_p90 ? "yes" : "no"}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
    </Stack>
  );
}

function share(value: number | null): string {
  return value === null ? "–" : percent(value);
}

function bias(value: number | null): string {
  if (value === null) return "–";
  return value >= 0 ? `${percent(value)} longer` : `${percent(-value)} shorter`;
}
