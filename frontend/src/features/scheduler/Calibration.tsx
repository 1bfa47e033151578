// SPDX-License-Identifier: Apache-2.0
// How accurate predictions were: the share of jobs that finished by the P90, and the error of the median.
import { t } from "@lingui/core/macro";
import { Stack, Table, Text } from "@mantine/core";

import type { Insight } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { number, percent } from "@/lib/quantities";
import { duration } from "@/lib/time";
import { WAIT_CAUSES } from "@/features/scheduler/waitCauses";

const MOMENTS: Record<string, string> = { submission: t`At submission`, launch: t`At the first start` };

type Calibrated = Omit<Insight["calibration"][number], "moment"> & { of: string };

export function Calibration({ insight }: { insight: Insight }) {
  const { calibration, calibration_by_organisation: organisations, calibration_by_cause: causes, ends } = insight;
  if (calibration.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t`No job has finished that had a prediction.`}
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      <CalibrationTable
        label={t`Calibration`}
        of={t`Prediction`}
        rows={calibration.map(({ moment, ...row }) => ({ ...row, of: MOMENTS[moment] ?? moment }))}
      />
      <Text size="xs" c="dimmed">
        {t`Well calibrated: 85 to 95 % of the jobs start and finish by their P90.`}
      </Text>
      {organisations.length > 0 && (
        <CalibrationTable
          label={t`Calibration by organisation`}
          of={t`Organisation`}
          rows={organisations.map(({ organisation, ...row }) => ({ ...row, of: organisation }))}
        />
      )}
      {causes.length > 0 && (
        <CalibrationTable
          label={t`Calibration by cause of waiting`}
          of={t`Waited at first for`}
          rows={causes.map(({ cause, ...row }) => ({ ...row, of: causeText(cause) }))}
        />
      )}
      {ends.length > 0 && (
        <ScrollTable label={t`Newest finishes`} head={[t`Job`, t`Prediction`, t`When`, t`Predicted`, t`Actual`, t`By its P90`]}>
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
              <Table.Td>{end.within_p90 === null ? "–" : end.within_p90 ? t`yes` : t`no`}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
    </Stack>
  );
}

interface TableProps {
  label: string;
  of: string;
  rows: Calibrated[];
}

function CalibrationTable({ label, of, rows }: TableProps) {
  const head = [of, t`Finished jobs`, t`By its P90`, t`Median error`, t`Bias`, t`Of those that waited, started by P90`];
  return (
    <ScrollTable label={label} head={head}>
      {rows.map((row) => (
        <Table.Tr key={row.of}>
          <Table.Td>{row.of}</Table.Td>
          <Table.Td>{number(row.n)}</Table.Td>
          <Table.Td>{share(row.within_p90)}</Table.Td>
          <Table.Td>{share(row.median_error)}</Table.Td>
          <Table.Td>{bias(row.median_bias)}</Table.Td>
          <Table.Td>{row.started_within_p90 === null ? "–" : t`${percent(row.started_within_p90)} of ${number(row.n_waited)}`}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}

/** Empty: the job did not wait. */
function causeText(cause: string): string {
  return cause === "" ? t`nothing: started at once` : (WAIT_CAUSES[cause] ?? cause.replaceAll("_", " "));
}

function share(value: number | null): string {
  return value === null ? "–" : percent(value);
}

function bias(value: number | null): string {
  if (value === null) return "–";
  return value >= 0 ? t`${percent(value)} longer` : t`${percent(-value)} shorter`;
}
