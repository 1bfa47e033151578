// SPDX-License-Identifier: Apache-2.0
// One metric's curves of all jobs, over the axis that is chosen, smoothed and on a logarithmic scale where that is wanted.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, Skeleton, Slider, Stack, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo, useRef } from "react";

import type { NamedLine } from "@/components/chart/ManyLines";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section } from "@/components/layout/Section";
import { lazyComponent } from "@/lib/chunk";
import { csvOf, saveCanvas, saveText } from "@/lib/download";

import { type Axis, type ComparedJob, curvesQuery, metricsQuery } from "./queries";
import { useSetting } from "./useSetting";

const ManyLines = lazyComponent(async () => (await import("@/components/chart/ManyLines")).ManyLines);

export const AXES: Record<Axis, string> = {
  step: t`Step`,
  wall: t`Seconds since the first step`,
  gpu_hours: t`GPU-hours`,
  epoch: t`Epoch`,
};
const HEIGHT = 420;

export function CurvesSection({ ids, jobs }: { ids: readonly string[]; jobs: readonly ComparedJob[] }) {
  const metrics = useQuery(metricsQuery(ids));
  const [chosen, setMetric] = useSetting("metric", "");
  const [axisName, setAxis] = useSetting("axis", "step");
  const [smooth, setSmooth] = useSetting("smooth", "0");
  const [log, setLog] = useSetting("log", "");
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const axis: Axis = axisName in AXES ? (axisName as Axis) : "step";
  const metric = chosen || (metrics.data?.[0]?.key ?? "");
  const curves = useQuery(curvesQuery(ids, metric, axis));
  const smoothing = Math.min(0.99, Math.max(0, Number(smooth) || 0));
  const lines = useMemo((): NamedLine[] => {
    const names = new Map(jobs.map(({ id, name }) => [id, name]));
    return (curves.data ?? []).map(({ job, x, y }) => ({ id: job, label: names.get(job) ?? job, x, y }));
  }, [curves.data, jobs]);

  if (metrics.data?.length === 0) {
    return (
      <Section title={t`Curves`}>
        <Text size="sm" c="dimmed">
          {t`None of these jobs has reported a metric.`}
        </Text>
      </Section>
    );
  }
  return (
    <Section title={t`Curves`}>
      <Group align="end" gap="sm">
        <NativeSelect
          size="xs"
          label={t`Metric`}
          value={metric}
          onChange={(event) => setMetric(event.currentTarget.value)}
          data={(metrics.data ?? []).map(({ key, n_jobs }) => ({ value: key, label: `${key} (${plural(n_jobs, { one: "# job", other: "# jobs" })})` }))}
        />
        <NativeSelect
          size="xs"
          label={t`Over`}
          value={axis}
          onChange={(event) => setAxis(event.currentTarget.value)}
          data={Object.entries(AXES).map(([value, label]) => ({ value, label }))}
        />
        <Stack gap={2} w={160}>
          <Text size="xs" fw={500} id="smoothing-label">
            {t`Smoothing`}
          </Text>
          <Slider
            size="sm"
            min={0}
            max={0.99}
            step={0.01}
            label={(value) => value.toFixed(2)}
            thumbLabel={t`Smoothing`}
            defaultValue={smoothing}
            onChangeEnd={(value) => setSmooth(String(value))}
          />
        </Stack>
        <Switch
          size="xs"
          label={t`Logarithmic scale`}
          checked={log === "1"}
          onChange={(event) => setLog(event.currentTarget.checked ? "1" : "")}
        />
        <Button size="xs" variant="default" disabled={lines.length === 0} onClick={() => saveText(`${fileName(metric)}.csv`, csvOfLines(lines, axis, metric))}>
          {t`Save as CSV`}
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={lines.length === 0}
          onClick={() => {
            if (canvas.current !== null) saveCanvas(`${fileName(metric)}.png`, canvas.current);
          }}
        >
          {t`Save as PNG`}
        </Button>
      </Group>
      <ProblemAlert error={metrics.error ?? curves.error} onRetry={() => void (metrics.error ? metrics : curves).refetch()} />
      {curves.data === undefined ? (
        <Skeleton h={HEIGHT} animate={curves.isFetching} />
      ) : (
        <figure style={{ margin: 0 }} aria-label={t`${metric} of ${plural(lines.length, { one: "# job", other: "# jobs" })} by ${AXES[axis].toLowerCase()}`}>
          <Suspense fallback={<Skeleton h={HEIGHT} />}>
            <ManyLines
              lines={lines}
              smoothing={smoothing}
              isLog={log === "1"}
              xLabel={AXES[axis]}
              height={HEIGHT}
              onCanvas={(made) => {
                canvas.current = made;
              }}
            />
          </Suspense>
        </figure>
      )}
    </Section>
  );
}

/** A row a point, as it was reported, without smoothing. */
export function csvOfLines(lines: readonly NamedLine[], axis: string, metric: string): string {
  const rows = lines.flatMap(({ id, label, x, y }) => x.map((at, index) => [id, label, at, y[index]] as const));
  return csvOf([["job", "name", axis, metric], ...rows]);
}

function fileName(metric: string): string {
  return metric.replaceAll(/[^\w.-]+/g, "-");
}
