// SPDX-License-Identifier: Apache-2.0
// The metrics of a run, of any number: a page of charts at a time, found by name, and their newest values as a table.
import { t } from "@lingui/core/macro";
import { Group, SimpleGrid, Stack, Text } from "@mantine/core";

import type { RunDetail } from "@/api/types";
import { ChartSettingsFields } from "@/components/chart/metric/ChartSettingsFields";
import { StepRangeShown } from "@/components/chart/metric/StepRangeShown";
import { useChartSettings, useStepRange } from "@/components/chart/metric/useChartSettings";
import { SectionCard } from "@/components/layout/Section";
import { SearchedList } from "@/components/table/SearchedList";
import { RunChart } from "@/features/runs/RunChart";
import { NewestValues } from "@/features/runs/RunParts";
import { number } from "@/lib/quantities";
import { readRunMetrics, runMetricsKey } from "@/features/runs/queries";

export function RunMetrics({ run }: { run: RunDetail }) {
  const [settings, change] = useChartSettings();
  const [range, setRange] = useStepRange();
  const { id, n_metrics: n } = run;
  return (
    <SectionCard title={n > 1 ? t`Metrics (${number(n)})` : t`Metrics`}>
      <Stack>
        <SearchedList
          name="metric"
          searchedBy={t`Part of a metric's name`}
          label={t`Metrics`}
          queryKey={runMetricsKey(id)}
          read={(query) => readRunMetrics(id, query)}
          empty={
            <Text size="sm" c="dimmed">
              {t`It logged no metrics.`}
            </Text>
          }
          isSorted
        >
          {(metrics) => (
            <>
              <Group gap="md" align="end">
                <ChartSettingsFields settings={settings} onChange={change} />
                <StepRangeShown range={range} onRange={setRange} />
              </Group>
              <SimpleGrid cols={{ base: 1, md: metrics.length > 1 ? 2 : 1 }} spacing="md">
                {metrics.map((metric) => (
                  <RunChart key={metric.key} id={id} metric={metric} settings={settings} range={range} onRange={setRange} />
                ))}
              </SimpleGrid>
              <NewestValues metrics={metrics} />
            </>
          )}
        </SearchedList>
      </Stack>
    </SectionCard>
  );
}
