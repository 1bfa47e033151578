// SPDX-License-Identifier: Apache-2.0
// The cluster over time: which job held which GPU, and what is predicted. Window, end, form, how many nodes and the chosen bar are in the address.
import { plural, t } from "@lingui/core/macro";
import { Box, Button, Group, SegmentedControl, Text, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useRef } from "react";

import type { Timeline, TimelineWindow } from "@/api/types";
import { UNNAMED, colourOf } from "@/components/chart/colours";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { TextLink } from "@/components/display/TextLink";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { useFilters } from "@/components/table/useFilters";
import { NoNodes } from "@/features/cluster/NoNodes";
import { clock } from "@/lib/time";

import { MARKS, MarkShape } from "./MarkShape";
import { WINDOW_S, isWindow, timelineQuery } from "./queries";
import { type MarkKind, csvOfTimeline, nodeRows, organisationsOf, waitingRows } from "./rows";
import classes from "./Timeline.module.css";
import { TimelineChart } from "./TimelineChart";
import { TimelineTable } from "./TimelineTable";
import { WaitSample } from "./WaitLine";

const NAMES = ["window", "until", "view", "pages"] as const;
const MOST_PAGES = 100; // of an address that somebody made up
const WINDOWS: { value: TimelineWindow; label: string }[] = [
  { value: "1h", label: t`1 h` },
  { value: "6h", label: t`6 h` },
  { value: "1d", label: t`1 d` },
  { value: "7d", label: t`7 d` },
];

export function TimelinePage() {
  const { filters, filter } = useFilters(NAMES);
  const window = isWindow(filters.window) ? filters.window : "6h";
  const until = filters.until !== undefined && !Number.isNaN(Date.parse(filters.until)) ? filters.until : undefined;
  const nPages = Math.min(MOST_PAGES, Math.max(1, Math.floor(Number(filters.pages)) || 1));
  const timeline = useQuery(timelineQuery(window, until, nPages));
  const first = timeline.data?.[0];
  const drawing = useRef<HTMLDivElement>(null);
  const nFurther = first === undefined ? 0 : first.n_waiting - first.waiting.length;

  /** By half a window; to now where it would reach it. */
  function move(direction: -1 | 1) {
    if (first === undefined) return;
    endAt(new Date(first.until).getTime() + direction * 500 * WINDOW_S[window]);
  }

  function endAt(end: number) {
    const isNow = first === undefined || end >= new Date(first.now).getTime();
    filter("until", isNow ? "" : new Date(end).toISOString());
  }

  return (
    <Page
      title={t`Timeline`}
      subtitle={first ? t`${clock(first.since)} to ${clock(first.until)}` : t`Which job held which GPU, and what is predicted.`}
      back={<BackLink to="/cluster">{t`Cluster`}</BackLink>}
      isWide
    >
      <Group justify="space-between" gap="sm">
        <Group gap="sm">
          <SegmentedControl size="xs" aria-label={t`Window`} value={window} onChange={(value) => filter("window", value)} data={WINDOWS} />
          <Button.Group>
            <Button variant="default" size="xs" onClick={() => move(-1)}>
              {t`Earlier`}
            </Button>
            <Button variant="default" size="xs" disabled={until === undefined} onClick={() => move(1)}>
              {t`Later`}
            </Button>
            <Button variant="default" size="xs" disabled={until === undefined} onClick={() => filter("until", "")}>
              {t`Now`}
            </Button>
          </Button.Group>
        </Group>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label={t`Form`}
            value={filters.view === "table" ? "table" : "chart"}
            onChange={(value) => filter("view", value === "table" ? "table" : "")}
            data={[
              { value: "chart", label: t`Chart` },
              { value: "table", label: t`Table` },
            ]}
          />
          <FigureMenu name={t`Timeline`} of={drawing} csv={() => csvOfTimeline(timeline.data ?? [])} isDisabled={first === undefined} />
        </Group>
      </Group>
      <QueryResult of={timeline}>
        {(pages) => <Shown pages={pages} isTable={filters.view === "table"} drawing={drawing} onTime={(at) => endAt(at + 500 * WINDOW_S[window])} />}
      </QueryResult>
      {nFurther > 0 && (
        <Text size="sm" c="dimmed">
          {plural(nFurther, {
            one: "# more pending job is predicted to start in this window, after those that are shown.",
            other: "# more pending jobs are predicted to start in this window, after those that are shown.",
          })}{" "}
          <TextLink to="/queue">{t`See the queue`}</TextLink>
        </Text>
      )}
      {timeline.data?.at(-1)?.next_after && (
        <Button variant="default" loading={timeline.isPlaceholderData} onClick={() => filter("pages", String(nPages + 1))} style={{ alignSelf: "center" }}>
          {t`Show more nodes`}
        </Button>
      )}
    </Page>
  );
}

interface ShownProps {
  pages: readonly Timeline[];
  isTable: boolean;
  drawing: RefObject<HTMLDivElement | null>;
  onTime: (at: number) => void;
}

function Shown({ pages, isTable, drawing, onTime }: ShownProps) {
  const [first] = pages;
  const nodes = nodeRows(pages);
  if (first === undefined || nodes.length === 0) {
    return <NoNodes />;
  }
  if (isTable) {
    return (
      <div ref={drawing}>
        <TimelineTable since={first.since} nodes={nodes} />
      </div>
    );
  }
  const [since, until, now] = [first.since, first.until, first.now].map((at) => new Date(at).getTime() / 1000) as [number, number, number];
  const organisations = organisationsOf(pages);
  const waiting = waitingRows(first);
  const bars = nodes.flatMap((node) => node.bars);
  return (
    <div ref={drawing} className={classes.figure}>
      <Legend
        organisations={organisations}
        hasOthers={bars.some(({ job }) => job === undefined)}
        kinds={new Set(nodes.flatMap(({ marks }) => marks.map(({ kind }) => kind)))}
        hasWaits={waiting.length > 0 || bars.some(({ waitedS }) => waitedS !== null)}
      />
      <TimelineChart
        since={first.since}
        lengthS={until - since}
        nowS={now < until ? now - since : null}
        nodes={nodes}
        waiting={waiting}
        organisations={organisations}
        onTime={onTime}
      />
    </div>
  );
}

interface LegendProps {
  organisations: readonly string[];
  hasOthers: boolean;
  kinds: ReadonlySet<MarkKind>;
  hasWaits: boolean;
}

function Legend({ organisations, hasOthers, kinds, hasWaits }: LegendProps) {
  const scheme = useComputedColorScheme("light");
  const colours: [string, string][] = organisations.map((name, index) => [name, colourOf(index, scheme)]);
  if (hasOthers) colours.push([t`other organisations, or several short attempts`, UNNAMED[scheme]]);
  return (
    <Group component="ul" gap="md" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Legend`}>
      {colours.map(([name, colour]) => (
        <Group component="li" key={name} gap={6} wrap="nowrap">
          <Box w={12} h={12} style={{ background: colour, borderRadius: 2, flexShrink: 0 }} />
          <Text size="xs">{name}</Text>
        </Group>
      ))}
      {[...kinds].sort().map((kind) => (
        <Group component="li" key={kind} gap={4} wrap="nowrap">
          <MarkShape kind={kind} />
          <Text size="xs">{MARKS[kind]}</Text>
        </Group>
      ))}
      {hasWaits && (
        <Group component="li" gap={6} wrap="nowrap">
          <WaitSample />
          <Text size="xs">{t`waited from submission to start`}</Text>
        </Group>
      )}
      <Group component="li" gap={6} wrap="nowrap">
        <Box w={36} h={12} style={{ background: "linear-gradient(to right, var(--mantine-color-dimmed) 50%, transparent)", opacity: 0.55 }} />
        <Text size="xs">{t`predicted: solid to the median, fading to 90 %`}</Text>
      </Group>
    </Group>
  );
}
