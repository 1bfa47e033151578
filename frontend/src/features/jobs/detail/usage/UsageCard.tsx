// SPDX-License-Identifier: Apache-2.0
// What the pods of an attempt used of their machines over time: a small chart a resource, a line a pod. Which attempt, which pods
// and which part of the time are in the address.
import { t } from "@lingui/core/macro";
import { Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";

import type { JobDetail, UsageOverTime } from "@/api/types";
import { useZoom } from "@/components/chart/zoom/useZoom";
import { type AxisUnit, BYTES, SECONDS } from "@/components/chart/axisUnits";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { useDrawing } from "@/components/chart/figure/useDrawing";
import type { AxisZoom } from "@/components/chart/zoom/dragZoom";
import { LinesSkeleton } from "@/components/chart/lines/LinesSkeleton";
import { ShowAll } from "@/components/chart/zoom/ShowAll";
import { useSeenWidth } from "@/components/chart/useSeenWidth";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { SectionCard } from "@/components/layout/Section";
import { useFilters } from "@/components/table/useFilters";
import { UNITS } from "@/domain/pods/podMetric";
import { usageQuery } from "@/features/jobs/queries";
import { lazyComponent } from "@/lib/chunk";
import { csvOf, saveText } from "@/lib/download";

import { linesOf, podName, usageCsv } from "./usageLines";

type Unit = keyof typeof UNITS;

const ManyLines = lazyComponent(async () => (await import("@/components/chart/lines/ManyLines")).ManyLines);
const text = (unit: Unit): AxisUnit => ({ text: UNITS[unit] });
const AXES: Record<Unit, AxisUnit> = {
  bytes: BYTES,
  bytes_per_second: { ...BYTES, ...text("bytes_per_second") },
  count: text("count"),
  examples: text("examples"),
  seconds: SECONDS,
  share: text("share"),
};
const HEIGHT = 150;
const NEWEST = "";

export function UsageCard({ job }: { job: JobDetail }) {
  const { filters, filter } = useFilters(["attempt", "pod"]);
  const attempt = filters.attempt ?? NEWEST;
  const chosen = job.attempts.some(({ number }) => String(number) === attempt) ? attempt : NEWEST;
  const firstPod = /^\d+$/.test(filters.pod ?? "") ? Number(filters.pod) : 0;
  const [zoom, setZoom] = useZoom("time", "seconds"); // of all charts
  const { data, error, refetch } = useQuery(usageQuery(job.id, chosen === NEWEST ? null : Number(chosen), firstPod));
  const isEmpty = data === undefined || data.resources.length === 0;
  if (isEmpty && error === null && chosen === NEWEST) return null;
  return (
    <SectionCard title={t`Resource use`}>
      <Group mb="sm" gap="xs">
        {job.attempts.length > 1 && (
          <NativeSelect
            size="xs"
            aria-label={t`Attempt`}
            value={chosen === NEWEST ? String(data?.attempt_number ?? "") : chosen}
            onChange={(event) => filter("attempt", event.currentTarget.value, "pod")}
            data={job.attempts.map(({ number }) => ({ value: String(number), label: t`Attempt ${number}` }))}
          />
        )}
        {data !== undefined && <Pods usage={data} firstPod={firstPod} onFirstPod={(place) => filter("pod", place === 0 ? "" : String(place))} />}
        {data !== undefined && !isEmpty && (
          <Button size="compact-xs" variant="subtle" onClick={() => saveText(`${job.name}-usage.csv`, usageCsv(data))}>
            {t`Save as CSV`}
          </Button>
        )}
        <ShowAll zoom={zoom} unit={SECONDS} onZoom={setZoom} />
      </Group>
      <ProblemAlert error={error} onRetry={() => void refetch()} />
      {isEmpty && error === null && <Text size="sm" c="dimmed">{t`This attempt has no samples: it ended too early, or they have been removed.`}</Text>}
      {!isEmpty && (
        <Text size="xs" c="dimmed" mb="xs">{t`One line a pod, by the time since the first sample. Point at a line to see whose it is; drag to zoom.`}</Text>
      )}
      {!isEmpty && (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          {data.resources.map((resource) => (
            <UsageChart key={resource.name} usage={data} resource={resource} zoom={zoom} onZoom={setZoom} />
          ))}
        </SimpleGrid>
      )}
    </SectionCard>
  );
}

/** Which pods are shown, where there are more than one answer holds. */
function Pods({ usage, firstPod, onFirstPod }: { usage: UsageOverTime; firstPod: number; onFirstPod: (place: number) => void }) {
  const [first, last] = [usage.pods[0], usage.pods.at(-1)];
  if (first === undefined || last === undefined || (firstPod === 0 && usage.next_pod === null)) return null;
  const { next_pod: next } = usage;
  return (
    <>
      <Text size="xs" c="dimmed">{t`${podName(first)} to ${podName(last)}`}</Text>
      {firstPod > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => onFirstPod(0)}>
          {t`First pods`}
        </Button>
      )}
      {next !== null && (
        <Button size="compact-xs" variant="subtle" onClick={() => onFirstPod(next)}>
          {t`Next pods`}
        </Button>
      )}
    </>
  );
}

interface ChartProps {
  usage: UsageOverTime;
  resource: UsageOverTime["resources"][number];
  zoom: AxisZoom | null;
  onZoom: (zoom: AxisZoom | null) => void;
}

function UsageChart({ usage, resource, zoom, onZoom }: ChartProps) {
  const { ref, width } = useSeenWidth<HTMLElement>();
  const { ref: drawn, of, isDrawn } = useDrawing<HTMLDivElement>();
  const lines = useMemo(() => linesOf(usage, resource.name), [usage, resource.name]);
  return (
    <figure ref={ref} style={{ margin: 0, minWidth: 0 }} aria-label={t`${resource.title} over time. ${resource.about}`}>
      <Group component="figcaption" justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={600} title={resource.about} style={{ overflowWrap: "anywhere" }}>
          {resource.title}
        </Text>
        <FigureMenu
          name={resource.title}
          of={of}
          csv={() => csvOf([["pod", "seconds", resource.unit], ...lines.flatMap(({ label, x, y }) => x.map((at, index) => [label, at, y[index]]))])}
          isDisabled={!isDrawn}
        />
      </Group>
      <Suspense fallback={<LinesSkeleton height={HEIGHT} isSmall />}>
        {width === null ? (
          <LinesSkeleton height={HEIGHT} isSmall animate={false} />
        ) : (
          <div ref={drawn}>
            <ManyLines
              lines={lines}
              smoothing={0}
              isLog={false}
              xLabel={t`since the start`}
              xUnit={SECONDS}
              yUnit={AXES[resource.unit]}
              height={HEIGHT}
              isSmall
              zoom={zoom}
              onZoom={onZoom}
            />
          </div>
        )}
      </Suspense>
    </figure>
  );
}
