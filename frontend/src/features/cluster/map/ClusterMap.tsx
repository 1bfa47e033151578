// SPDX-License-Identifier: Apache-2.0
// The cluster at a glance, now, in the last hours or as predicted. Colours, time and the chosen job are in the address.
import { t } from "@lingui/core/macro";
import { Alert, Group, NativeSelect, SegmentedControl, Stack, Text, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Cluster } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section } from "@/components/layout/Section";
import { useFilters } from "@/components/table/useFilters";
import { timelineQuery } from "@/features/cluster/timeline/queries";
import { nodeRows } from "@/features/cluster/timeline/rows";
import { number } from "@/lib/quantities";
import { useNow } from "@/lib/time";

import { COLOURINGS, type Colouring, OF_ANY_TIME, isColouring } from "./colours";
import { JobPlace } from "./JobPlace";
import { JobTraffic } from "./JobTraffic";
import { MapLegend } from "./MapLegend";
import { type MapRack, countOf, csvOfMap, jobsOn, mapAt, mapNow, organisationsOn, placeOf } from "./model";
import { RackGrid } from "./RackGrid";
import { AHEAD_S, BACK_S, TimeScrubber } from "./TimeScrubber";

const NAMES = ["colour", "at", "job"] as const;
const PAGES = 8; // of the timeline's nodes

export function ClusterMap({ cluster }: { cluster: Cluster }) {
  const { filters, filter } = useFilters(NAMES);
  const scheme = useComputedColorScheme("light");
  const now = useNow(60);
  const drawing = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<Moved | null>(null);
  if (moved !== null && moved.at === (filters.at ?? "")) setMoved(null);
  const offsetS = moved?.offsetS ?? offsetOf(filters.at, now);
  const { racks, error, isLoading, isCut } = useRacks(cluster, offsetS, now);
  const isNow = offsetS === 0;
  const asked: Colouring = isColouring(filters.colour) ? filters.colour : "organisation";
  const colouring = isNow || OF_ANY_TIME.includes(asked) ? asked : "organisation";
  const jobs = jobsOn(racks);
  const names = colouring === "job" ? jobs.map(({ id }) => id) : organisationsOn(racks);
  const palette = { scheme, colouring, names };
  const job = jobs.find(({ id }) => id === filters.job);
  const { nGpus, nHeld } = countOf(racks);
  const recolour = (value: string) => filter("colour", value === "organisation" ? "" : value);
  const colourings = Object.entries(COLOURINGS).map(([value, label]) => ({
    value,
    label,
    disabled: !isNow && !OF_ANY_TIME.includes(value as Colouring),
  }));

  return (
    <Section title={t`Map`}>
      <Group gap="sm">
        <SegmentedControl
          size="xs"
          visibleFrom="sm"
          aria-label={t`Colour by`}
          value={colouring}
          onChange={recolour}
          data={colourings}
        />
        <NativeSelect
          size="xs"
          hiddenFrom="sm"
          aria-label={t`Colour by`}
          value={colouring}
          onChange={(event) => recolour(event.currentTarget.value)}
          data={colourings}
        />
        <NativeSelect
          size="xs"
          aria-label={t`Highlight a job`}
          value={job?.id ?? ""}
          onChange={(event) => filter("job", event.currentTarget.value)}
          data={[{ value: "", label: t`Highlight a job` }, ...jobs.map(({ id, name }) => ({ value: id, label: name }))]}
        />
        <Text size="xs" c="dimmed" ml="auto">
          {t`${number(nHeld)} of ${number(nGpus)} GPUs in use`}
        </Text>
        <FigureMenu name={t`Map of the cluster`} of={drawing} csv={() => csvOfMap(racks)} />
      </Group>
      <TimeScrubber
        offsetS={offsetS}
        now={now}
        onMove={(to) => setMoved({ offsetS: to, at: null })}
        onSettle={(to) => {
          const at = to === 0 ? "" : new Date(now + to * 1000).toISOString();
          setMoved({ offsetS: to, at });
          filter("at", at);
        }}
      />
      {!isNow && (
        <Text size="xs" c="dimmed" role="note">
          {t`Only the map is of that time: the totals above and all that is below the map are of now.`}
        </Text>
      )}
      <ProblemAlert error={error} />
      {isCut && <Alert color="gray">{t`The map shows the first nodes only; the page Timeline has all of them.`}</Alert>}
      <Stack gap="sm" ref={drawing} style={{ opacity: isLoading ? 0.5 : 1 }}>
        <RackGrid racks={racks} palette={palette} chosen={job?.id ?? ""} onChoose={(id) => filter("job", id)} />
        {job !== undefined && <JobPlace job={job} place={placeOf(racks, job.id)} cluster={cluster} />}
        {job !== undefined && isNow && <JobTraffic job={job.id} place={placeOf(racks, job.id)} cluster={cluster} />}
        <MapLegend palette={palette} jobs={jobs} racks={racks} />
      </Stack>
    </Section>
  );
}

/** Where the slider is until the address says the same: a key may be pressed again before. at: as in the address; null while it is dragged. */
interface Moved {
  offsetS: number;
  at: string | null;
}

interface Shown {
  racks: MapRack[];
  error: Error | null;
  isLoading: boolean;
  isCut: boolean;
}

/** The timeline is read only when another time than now is asked for. */
function useRacks(cluster: Cluster, offsetS: number, now: number): Shown {
  const timeline = useQuery({ ...timelineQuery("1d", undefined, PAGES), enabled: offsetS !== 0 });
  const pages = timeline.data;
  const first = pages?.[0];
  if (offsetS === 0 || pages === undefined || first === undefined) {
    return { racks: mapNow(cluster), error: offsetS === 0 ? null : timeline.error, isLoading: offsetS !== 0, isCut: false };
  }
  const sinceS = new Date(first.since).getTime() / 1000;
  const [atS, nowS] = [now / 1000 + offsetS - sinceS, new Date(first.now).getTime() / 1000 - sinceS];
  return {
    racks: mapAt(cluster, nodeRows(pages), atS, nowS),
    error: timeline.error,
    isLoading: false,
    isCut: Boolean(pages.at(-1)?.next_after),
  };
}

/** Seconds from now, within what the slider has; 0 where the address says nothing that can be read. */
function offsetOf(at: string | undefined, now: number): number {
  const time = at === undefined ? Number.NaN : Date.parse(at);
  if (Number.isNaN(time)) return 0;
  return Math.min(AHEAD_S, Math.max(-BACK_S, Math.round((time - now) / 1000)));
}
