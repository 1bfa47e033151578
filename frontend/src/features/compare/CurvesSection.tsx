// SPDX-License-Identifier: Apache-2.0
// One metric's curves of all jobs, over the axis that is chosen, smoothed and on a logarithmic scale where that is wanted.
import { plural, t } from "@lingui/core/macro";
import { Group, NativeSelect, Slider, Stack, Switch, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useMemo } from "react";

import { useChanges } from "@/api/live/changes";
import { whenRead } from "@/api/live/underWay";
import type { RunStatus } from "@/api/types";
import { useSetting } from "@/components/chart/address/useSetting";
import { useZoom } from "@/components/chart/zoom/useZoom";
import { type AxisUnit, SECONDS } from "@/components/chart/axisUnits";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { useDrawing } from "@/components/chart/figure/useDrawing";
import { LinesSkeleton } from "@/components/chart/lines/LinesSkeleton";
import type { NamedLine } from "@/components/chart/lines/ManyLines";
import { ShowAll } from "@/components/chart/zoom/ShowAll";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SearchSelect } from "@/components/form/choice/SearchSelect";
import { Section } from "@/components/layout/Section";
import { isOver } from "@/domain/states/jobState";
import { lazyComponent } from "@/lib/chunk";
import { csvOf } from "@/lib/download";
import { number } from "@/lib/quantities";

import { useGrowingRows } from "./live";
import { type Axis, type ComparedCurve, type ComparedJob, curvesQuery, metricChoices, metricsQuery, pointsEach, readCurves } from "./queries";
import { type ComparedRuns, type ComparedRunCurve, hasAxis, readRunCurves, runCurvesQuery } from "./runs";
import type { Compared } from "./settings";
import { Swatch } from "./Swatch";

const loadLines = () => import("@/components/chart/lines/ManyLines");
const ManyLines = lazyComponent(async () => (await loadLines()).ManyLines);

export const AXES: Record<Axis, string> = {
  step: t`Step`,
  wall: t`Time since the first step`,
  gpu_hours: t`GPU-hours`,
  epoch: t`Epoch`,
};
const GROWING: ReadonlySet<RunStatus> = new Set<RunStatus>(["RUNNING", "SCHEDULED"]);
const PLAIN: AxisUnit = { text: number };
const HEIGHT = 420;
const MOST_NAMED = 8;

interface Props {
  /** Of the jobs in the address, those that are there. */
  jobs: readonly ComparedJob[];
  ids: readonly string[];
  compared: readonly Compared[];
  runIds: readonly string[];
  runs: ComparedRuns;
  /** Whether the runs are still to come. */
  isLoading: boolean;
  /** The id of the row that is drawn thick. */
  baseline: string;
}

export function CurvesSection({ jobs, ids, compared, runIds, runs, isLoading, baseline }: Props) {
  const client = useQueryClient();
  const metrics = useQuery(metricsQuery(ids));
  const keys = useMemo(() => keysOf(metrics.data?.metrics ?? [], runs.metrics), [metrics.data, runs.metrics]);
  const choices = useMemo(() => metricChoices(ids), [ids]);
  const [chosen, setMetric] = useSetting("metric", "");
  const [axisName, setAxis] = useSetting("axis", "step");
  const [smooth, setSmooth] = useSetting("smooth", "0");
  const [log, setLog] = useSetting("log", "");
  const [logX, setLogX] = useSetting("logx", "");
  const { ref: drawn, of, isDrawn } = useDrawing<HTMLElement>();
  const axis = axisOf(axisName);
  const [zoom, setZoom] = useZoom("zoom", axis);
  const xUnit = axis === "wall" ? SECONDS : PLAIN;
  const metric = chosen || (keys[0]?.key ?? "");
  const curves = useQuery(curvesQuery(ids, metric, axis));
  const runCurves = useQuery(runCurvesQuery(runIds, metric, axis));
  useLiveCurves({ jobs, ids, runIds, runs, metric, axis });
  useChanges((metrics.data?.metrics ?? []).length === 0 && ids.length > 0 ? "progress" : null, () => {
    whenRead(client, metricsQuery(ids).queryKey, () => void metrics.refetch());
  });
  const smoothing = Math.min(0.99, Math.max(0, Number(smooth) || 0));
  const lines = useMemo((): NamedLine[] => {
    const rows = new Map(compared.map(({ id, name }, place) => [id, { label: name, place }]));
    const found = (curves.data ?? []).map(({ job, x, y }) => ({ id: job, x, y }));
    const others = hasAxis(axis) ? (runCurves.data ?? []).map(({ run, x, y }) => ({ id: run, x, y })) : [];
    return [...found, ...others].map((curve) => ({ ...curve, label: curve.id, ...rows.get(curve.id), isEmphasised: curve.id === baseline }));
  }, [curves.data, runCurves.data, axis, compared, baseline]);

  if (metrics.data !== undefined && !isLoading && keys.length === 0) {
    return (
      <Section title={t`Curves`}>
        <Text size="sm" c="dimmed">
          {t`None of these has reported a metric.`}
        </Text>
      </Section>
    );
  }
  return (
    <Section title={t`Curves`}>
      <Group align="end" gap="sm">
        {metrics.data?.isWhole === false ? (
          <SearchSelect
            size="xs"
            miw={240}
            label={t`Metric`}
            source={choices}
            textOf={({ key, n_jobs }) => `${key} (${countOf(n_jobs, 0)})`}
            allowDeselect={false}
            value={metric}
            onChange={setMetric}
          />
        ) : (
          <NativeSelect
            size="xs"
            label={t`Metric`}
            value={metric}
            onChange={(event) => setMetric(event.currentTarget.value)}
            data={keys.map(({ key, having }) => ({ value: key, label: `${key} (${having})` }))}
          />
        )}
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
          mb={6}
          label={t`Logarithmic scale`}
          checked={log === "1"}
          onChange={(event) => setLog(event.currentTarget.checked ? "1" : "")}
        />
        <Switch
          size="xs"
          mb={6}
          label={t`Logarithmic x axis`}
          checked={logX === "1"}
          onChange={(event) => setLogX(event.currentTarget.checked ? "1" : "")}
        />
        <ShowAll zoom={zoom} unit={xUnit} onZoom={setZoom} />
        <FigureMenu name={t`Curves of ${metric}`} of={of} csv={() => csvOfLines(lines, axis, metric)} isDisabled={!isDrawn || lines.length === 0} />
      </Group>
      <ProblemAlert error={metrics.error ?? curves.error ?? runCurves.error} onRetry={() => void (metrics.error ? metrics : curves.error ? curves : runCurves).refetch()} />
      {runs.runs.length > 0 && !hasAxis(axis) && (
        <Text size="sm" c="dimmed">
          {t`Runs from elsewhere say neither GPU-hours nor epochs: their curves are over steps and seconds.`}
        </Text>
      )}
      {curves.data === undefined || (runCurves.data === undefined && runCurves.isFetching) ? (
        <LinesSkeleton height={HEIGHT} animate={curves.isFetching || runCurves.isFetching} />
      ) : (
        <figure ref={drawn} style={{ margin: 0 }} aria-label={t`${metric} of ${countOf(lines.length - (hasAxis(axis) ? (runCurves.data?.length ?? 0) : 0), hasAxis(axis) ? (runCurves.data?.length ?? 0) : 0)} by ${AXES[axis].toLowerCase()}`}>
          <Suspense fallback={<LinesSkeleton height={HEIGHT} />}>
            <ManyLines
              lines={lines}
              smoothing={smoothing}
              isLog={log === "1"}
              isLogX={logX === "1"}
              xLabel={AXES[axis]}
              xUnit={xUnit}
              height={HEIGHT}
              zoom={zoom}
              onZoom={setZoom}
            />
          </Suspense>
          <Legend lines={lines} />
        </figure>
      )}
    </Section>
  );
}

/** Metrics, curves and what draws them are read while the jobs are: the section is rendered after these. With runs, which metric is first depends on them, too. */
export function useCurvesAhead(ids: readonly string[], hasRuns: boolean) {
  const client = useQueryClient();
  const metrics = useQuery({ ...metricsQuery(ids), enabled: ids.length > 0 });
  const [chosen] = useSetting("metric", "");
  const [axisName] = useSetting("axis", "step");
  const axis = axisOf(axisName);
  const metric = chosen || (metrics.data?.metrics[0]?.key ?? "");
  useEffect(() => {
    if (metric === "" || hasRuns) return;
    void client.query(curvesQuery(ids, metric, axis)).catch(() => undefined);
    void loadLines().catch(() => undefined); // it is asked for again where it is drawn
  }, [client, ids, metric, axis, hasRuns]);
}

function axisOf(name: string): Axis {
  return name in AXES ? (name as Axis) : "step";
}

/** Whose lines they are, where these are few; the table has the colours of all. */
function Legend({ lines }: { lines: readonly NamedLine[] }) {
  if (lines.length > MOST_NAMED) return null;
  return (
    <Group gap="md" component="figcaption" mt={4}>
      {lines.map(({ id, label, place = 0, isEmphasised = false }) => (
        <Group key={id} gap={6} wrap="nowrap" miw={0}>
          <Swatch place={place} isEmphasised={isEmphasised} />
          <Text size="xs" truncate dir="auto" maw={280} title={label}>
            {label}
          </Text>
        </Group>
      ))}
    </Group>
  );
}

/** "2 jobs, 1 run". */
export function countOf(nJobs: number, nRuns: number): string {
  const jobs = plural(nJobs, { one: "# job", other: "# jobs" });
  if (nRuns === 0) return jobs;
  const runs = plural(nRuns, { one: "# run", other: "# runs" });
  return nJobs === 0 ? runs : `${jobs}, ${runs}`;
}

/** What still grows is read again while the stream reports that something was logged: those curves alone, all by one request. */
function useLiveCurves({ jobs, ids, runIds, runs, metric, axis }: Pick<Props, "jobs" | "ids" | "runIds" | "runs"> & { metric: string; axis: Axis }) {
  const ofJobs = {
    queryKey: curvesQuery(ids, metric, axis).queryKey,
    ids,
    idOf: ({ job }: ComparedCurve) => job,
    read: (some: readonly string[]) => readCurves(some, metric, axis, pointsEach(ids.length)),
  };
  const ofRuns = {
    queryKey: runCurvesQuery(runIds, metric, axis).queryKey,
    ids: runIds,
    idOf: ({ run }: ComparedRunCurve) => run,
    read: (some: readonly string[]) => readRunCurves(some, metric, axis, pointsEach(runIds.length)),
  };
  useGrowingRows("progress", ofJobs, jobs.filter((job) => !isOver(job)).map(({ id }) => id));
  useGrowingRows("run", ofRuns, runs.runs.filter(({ status }) => GROWING.has(status)).map(({ id }) => id));
}

/** The metrics of jobs and runs, those that the most of them have first. */
function keysOf(ofJobs: readonly { key: string; n_jobs: number }[], ofRuns: ComparedRuns["metrics"]): { key: string; having: string }[] {
  const nRuns = new Map(ofRuns.map(({ key, n_runs }) => [key, n_runs]));
  const nJobs = new Map(ofJobs.map(({ key, n_jobs }) => [key, n_jobs]));
  const found = [...new Set([...nJobs.keys(), ...nRuns.keys()])].map((key) => [key, nJobs.get(key) ?? 0, nRuns.get(key) ?? 0] as const);
  // stable: of as many, those of jobs keep their order
  return found.sort((a, b) => b[1] + b[2] - (a[1] + a[2])).map(([key, jobs, others]) => ({ key, having: countOf(jobs, others) }));
}

/** A row a point, as it was reported, without smoothing. */
export function csvOfLines(lines: readonly NamedLine[], axis: string, metric: string): string {
  const rows = lines.flatMap(({ id, label, x, y }) => x.map((at, index) => [id, label, at, y[index]] as const));
  return csvOf([["job", "name", axis, metric], ...rows]);
}
