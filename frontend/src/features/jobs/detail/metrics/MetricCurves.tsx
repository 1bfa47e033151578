// SPDX-License-Identifier: Apache-2.0
// What the job reports while it trains: a page of charts at a time, found by name, and their latest values as a table.
import { plural, t } from "@lingui/core/macro";
import { Group, Pagination, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import type { Attempt } from "@/api/types";
import type { Mark } from "@/components/chart/CurveChart";
import { ChartSettingsFields } from "@/components/chart/metric/ChartSettingsFields";
import { StepRangeShown } from "@/components/chart/metric/StepRangeShown";
import { useChartSettings, useStepRange } from "@/components/chart/metric/useChartSettings";
import { groupKeys } from "@/lib/curves/series";

import { LatestValues } from "./LatestValues";
import { MetricChart } from "./MetricChart";
import type { Names } from "./metricQueries";

const CHARTS = 12; // of a page
const FEW = 6; // charts that need no search

interface Props {
  id: string;
  names: Names;
  attempts: readonly Attempt[];
  isOver: boolean;
}

export function MetricCurves({ id, names, attempts, isOver }: Props) {
  const [address, setAddress] = useSearchParams();
  const search = address.get("find") ?? "";
  const page = Math.max(1, Math.floor(Number(address.get("charts")) || 1));
  const change = (values: Record<string, string>) =>
    setAddress(
      (known) => {
        for (const [name, value] of Object.entries(values)) {
          if (value === "") known.delete(name);
          else known.set(name, value);
        }
        return known;
      },
      { replace: true },
    );
  const [settings, changeSettings] = useChartSettings();
  const [range, setRange] = useStepRange();
  const marks = useMemo(() => marksOf(attempts), [attempts]);
  const keys = [...names.keys()].sort().join("\n"); // values change all the time, names seldom
  const groups = useMemo(() => groupKeys(keys === "" ? [] : keys.split("\n")), [keys]);
  const found = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return wanted === "" ? groups : groupKeys(groups.flatMap((group) => group.keys.filter((key) => key.toLowerCase().includes(wanted))));
  }, [groups, search]);

  if (names.size === 0) {
    return (
      <Text size="sm" c="dimmed">
        {isOver ? t`It reported no metrics.` : t`Metrics appear here as soon as it trains.`}
      </Text>
    );
  }
  const nPages = Math.max(1, Math.ceil(found.length / CHARTS));
  const shownPage = Math.min(page, nPages);
  const shown = found.slice((shownPage - 1) * CHARTS, shownPage * CHARTS);
  return (
    <Stack gap="md">
      {groups.length > FEW && (
        <Group justify="space-between">
          <TextInput
            size="xs"
            w={280}
            type="search"
            aria-label={t`Search metrics`}
            placeholder={t`Search metrics`}
            value={search}
            onChange={(event) => change({ find: event.currentTarget.value, charts: "" })}
          />
          <Text size="sm" c="dimmed" role="status">
            {found.length === groups.length ? plural(names.size, { one: "# metric", other: "# metrics" }) : t`${plural(found.length, { one: "# chart", other: "# charts" })} found`}
          </Text>
        </Group>
      )}
      <Group gap="md" align="end">
        <ChartSettingsFields settings={settings} onChange={changeSettings} />
        <StepRangeShown range={range} onRange={setRange} />
      </Group>
      <SimpleGrid cols={{ base: 1, md: shown.length > 1 ? 2 : 1 }} spacing="md">
        {shown.map((group) => (
          <MetricChart key={group.keys.join("\n")} id={id} group={group} marks={marks} settings={settings} range={range} onRange={setRange} />
        ))}
      </SimpleGrid>
      {nPages > 1 && (
        <Pagination
          size="sm"
          total={nPages}
          value={shownPage}
          onChange={(chosen) => change({ charts: chosen === 1 ? "" : String(chosen) })}
          getItemProps={(number) => ({ "aria-label": t`Charts, page ${number}` })}
          getControlProps={(control) => ({ "aria-label": t`${control} page of charts` })}
        />
      )}
      <LatestValues id={id} names={names} keys={shown.flatMap((group) => group.keys)} />
    </Stack>
  );
}

/** Where a later attempt began to train. */
function marksOf(attempts: readonly Attempt[]): Mark[] {
  return attempts
    .filter(({ number, training_at }) => number > 1 && training_at !== null)
    .map(({ number, first_step }) => ({ step: first_step, label: `#${number}` }));
}
