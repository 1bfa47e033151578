// SPDX-License-Identifier: Apache-2.0
// GPUs as rows, attempts as bars; the future solid to the median, then fading to the ninetieth percentile. Arrow keys go from bar to bar.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, Text, useComputedColorScheme } from "@mantine/core";
import { type CSSProperties, type KeyboardEvent, memo, useMemo } from "react";
import { useNavigate } from "react-router";

import { UNNAMED, colourOf } from "@/components/chart/colours";
import { TextLink } from "@/components/display/TextLink";
import { clock, duration } from "@/lib/time";

import { BarEnding } from "./BarEnding";
import { MARKS, MarkShape } from "./MarkShape";
import { place, stretch } from "./places";
import { type Bar, type NodeRow, type Tick, type WaitingRow, barName, gpusText, ticksOf, successorOf, waitsOf } from "./rows";
import classes from "./Timeline.module.css";
import { useChosenBar } from "./useChosenBar";
import { Waited, Waits } from "./WaitLine";

/** Over what is only predicted. */
const HATCH = "repeating-linear-gradient(135deg, var(--mantine-color-body) 0 2px, transparent 2px 7px)";
const LEAST_NAMED_PX = 18;
const LEAST_NAMED_SHARE = 0.12;

interface Props {
  since: string;
  lengthS: number;
  /** Null where the window lies in the past. */
  nowS: number | null;
  nodes: readonly NodeRow[];
  waiting: readonly WaitingRow[];
  organisations: readonly string[];
  /** Another time is wanted, in milliseconds. */
  onTime: (at: number) => void;
}

const MOST_HEIGHT = 14; // of a GPU, in pixels
const NODE_HEIGHT = 96; // of a node with many GPUs
const WAIT_HEIGHT = 6; // of the line of a wait, with what can be pointed at

/** The colour of a job's organisation; of jobs that one may not see, grey. */
function useColours(organisations: readonly string[]): (organisation: string | undefined) => string {
  const scheme = useComputedColorScheme("light");
  return useMemo(
    () => (organisation) => (organisation === undefined ? UNNAMED[scheme] : colourOf(organisations.indexOf(organisation), scheme)),
    [organisations, scheme],
  );
}

export function TimelineChart({ since, lengthS, nowS, nodes, waiting, organisations, onTime }: Props) {
  const navigate = useNavigate();
  const colour = useColours(organisations);
  const ticks = useMemo(() => ticksOf(since, lengthS), [since, lengthS]);
  const bars = useMemo(() => nodes.flatMap((node) => node.bars), [nodes]);
  const { bar, missingAt, choose } = useChosenBar(bars, since);
  const index = bar === undefined ? -1 : bars.indexOf(bar);

  function press(event: KeyboardEvent) {
    const next = nextBar(event.key, bars, index);
    if (next !== undefined) {
      event.preventDefault();
      choose(bars[next]);
    } else if (event.key === "Enter" && bar?.job) {
      void navigate(`/jobs/${bar.job.id}`);
    } else if (event.key === "Escape") {
      choose(undefined);
    }
  }

  const frame = { since, ticks, lengthS, nowS };
  return (
    <div>
      <div
        className={`${classes.chart ?? ""} ${classes.focus ?? ""}`}
        role="application"
        aria-label={t`Timeline of the cluster: arrow keys go from attempt to attempt, Enter opens the job`}
        tabIndex={0}
        onKeyDown={press}
      >
        <div className={classes.row}>
          <span className={classes.axisLabel} />
          <div className={classes.axis} aria-hidden="true">
            {ticks.map(({ atS, label }) => (
              <span key={atS} className={classes.tick} style={{ left: place(clamped(atS, lengthS), lengthS) }}>
                {label}
              </span>
            ))}
          </div>
        </div>
        {nodes.map((node) => (
          <NodeTrack key={node.name} node={node} colour={colour} chosen={bar?.node === node.name ? bar.key : undefined} onChoose={choose} {...frame} />
        ))}
        {waiting.map((row) => (
          <WaitingTrack key={row.job.id} row={row} colour={colour(row.job.organisation)} {...frame} />
        ))}
      </div>
      <div aria-live="polite">
        <Text size="sm" mt={6} mih={22} style={{ overflowWrap: "anywhere" }}>
          {bar ? barText(bar, since) : bars.length > 0 ? t`Choose a bar to see its job and why it ended.` : t`No job held a GPU in this time.`}{" "}
          {bars.length === 0 && <TextLink to="/jobs/new">{t`New job`}</TextLink>}
        </Text>
        {bar && <BarEnding bar={bar} since={since} />}
        {missingAt !== null && (
          <Group gap="xs">
            <Text size="sm" c="dimmed">{t`The attempt in this page's address is not in this window.`}</Text>
            <Button size="compact-xs" variant="default" onClick={() => onTime(missingAt)}>
              {t`Show its time`}
            </Button>
          </Group>
        )}
      </div>
    </div>
  );
}

interface Frame {
  since: string;
  ticks: readonly Tick[];
  lengthS: number;
  nowS: number | null;
}

interface NodeTrackProps extends Frame {
  node: NodeRow;
  colour: (organisation: string | undefined) => string;
  chosen: string | undefined;
  onChoose: (bar: Bar) => void;
}

const NodeTrack = memo(function NodeTrack({ node, colour, chosen, onChoose, ...frame }: NodeTrackProps) {
  const height = Math.max(3, Math.min(MOST_HEIGHT, Math.floor(NODE_HEIGHT / node.nGpus)));
  const { since, lengthS } = frame;
  const waits = waitsOf(node.bars, lengthS, ({ nGpus }) => Math.floor((nGpus * height) / WAIT_HEIGHT));
  const lane = (firstGpu: number, nGpus: number) => ({ top: firstGpu * height, height: nGpus * height - 1 });
  return (
    <div className={classes.row}>
      <span className={classes.label}>
        <span className={classes.name} title={node.name}>
          {node.name}
        </span>
        <Text span size="xs" c="dimmed">
          {[plural(node.nGpus, { one: "# GPU", other: "# GPUs" }), node.gpuType].filter(Boolean).join(" · ")}
        </Text>
      </span>
      <div className={classes.track} style={{ height: node.nGpus * height }}>
        <GridLines {...frame} />
        {node.bars.map((bar) => (
          <div key={bar.key}>
            <div
              className={classes.bar}
              data-selected={bar.key === chosen || undefined}
              title={barName(bar)}
              onClick={() => onChoose(bar)}
              style={{ ...lane(bar.firstGpu, bar.nGpus), ...stretch(bar.sinceS, bar.untilS, lengthS), background: colour(bar.job?.organisation) }}
            >
              {isNamed(bar, height, lengthS) && (
                <span className={classes.barName} dir="auto" aria-hidden>
                  {barName(bar)}
                </span>
              )}
            </div>
            {bar.p50S !== null && (
              <Future
                style={lane(bar.firstGpu, bar.nGpus)}
                sinceS={bar.untilS}
                solidS={bar.p50S}
                fadedS={bar.p90S ?? bar.p50S}
                colour={colour(bar.job?.organisation)}
                lengthS={lengthS}
              />
            )}
          </div>
        ))}
        {node.marks.map((mark) => {
          const next = successorOf(mark, node.bars);
          if (next === undefined) return null;
          const middle = (first: number, n: number) => (first + n / 2) * height;
          return (
            <Arrow
              key={`arrow ${mark.key}`}
              fromS={mark.atS}
              toS={next.sinceS}
              fromPx={middle(mark.gpu, 1)}
              toPx={middle(next.firstGpu, next.nGpus)}
              lengthS={lengthS}
              title={t`The GPU of ${mark.name} went to ${barName(next)}`}
            />
          );
        })}
        {waits.map((wait) => (
          <Waited
            key={`waited ${wait.bar.key}`}
            wait={wait}
            topPx={wait.bar.firstGpu * height + 1 + wait.row * WAIT_HEIGHT}
            lengthS={lengthS}
            since={since}
            onChoose={() => onChoose(wait.bar)}
          />
        ))}
        {node.marks.map(({ key, kind, gpu, atS, name }) => (
          <span key={key} className={classes.mark} title={`${name}: ${MARKS[kind]}`} style={{ left: place(atS, lengthS), top: gpu * height }}>
            <MarkShape kind={kind} />
          </span>
        ))}
      </div>
    </div>
  );
});

interface ArrowProps {
  fromS: number;
  toS: number;
  fromPx: number;
  toPx: number;
  lengthS: number;
  title: string;
}

/** From a job that was preempted to the one that got its GPU. */
function Arrow({ fromS, toS, fromPx, toPx, lengthS, title }: ArrowProps) {
  const top = Math.min(fromPx, toPx);
  const drop = Math.abs(toPx - fromPx);
  return (
    <span className={classes.arrow} title={title} style={{ ...stretch(fromS, toS, lengthS), top, height: Math.max(drop, 1) }} data-up={toPx < fromPx || undefined} aria-hidden />
  );
}

/** Whether there is room for its name. */
function isNamed(bar: Bar, height: number, lengthS: number): boolean {
  return bar.nGpus * height >= LEAST_NAMED_PX && bar.untilS - bar.sinceS >= LEAST_NAMED_SHARE * lengthS;
}

function WaitingTrack({ row, colour, ...frame }: Frame & { row: WaitingRow; colour: string }) {
  const { since, lengthS, nowS } = frame;
  const solidS = row.finishP50S ?? lengthS;
  return (
    <div className={classes.row}>
      <span className={classes.label}>
        <span className={classes.name} dir="auto" title={row.job.name}>
          {row.job.name}
        </span>
        <Text span size="xs" c="dimmed">
          {t`Pending`}
        </Text>
      </span>
      <div className={classes.track} style={{ height: MOST_HEIGHT }} title={t`${row.job.name}: predicted`}>
        <GridLines {...frame} />
        <Future
          style={{ top: 0, height: MOST_HEIGHT - 1 }}
          sinceS={row.startP50S}
          solidS={solidS}
          fadedS={row.finishP90S ?? solidS}
          colour={colour}
          lengthS={lengthS}
        />
        {nowS !== null && row.submittedS !== null && <Waits job={row.job} submittedS={row.submittedS} startS={row.startP50S} topPx={(MOST_HEIGHT - WAIT_HEIGHT) / 2} lengthS={lengthS} nowS={nowS} since={since} />}
      </div>
    </div>
  );
}

interface FutureProps {
  style: CSSProperties;
  sinceS: number;
  solidS: number;
  fadedS: number;
  colour: string;
  lengthS: number;
}

/** Solid to the median, then fading. */
function Future({ style, sinceS, solidS, fadedS, colour, lengthS }: FutureProps) {
  const endS = Math.max(solidS, fadedS);
  const solid = endS > sinceS ? Math.max(0, (100 * (solidS - sinceS)) / (endS - sinceS)) : 100;
  return (
    <div
      className={classes.future}
      style={{ ...style, ...stretch(sinceS, endS, lengthS), background: `${HATCH}, linear-gradient(to right, ${colour} ${solid}%, transparent)` }}
    />
  );
}

function GridLines({ ticks, lengthS, nowS }: Frame) {
  return (
    <>
      {ticks.map(({ atS }) => (
        <span key={atS} className={classes.grid} style={{ left: place(atS, lengthS) }} />
      ))}
      {nowS !== null && <span className={classes.now} style={{ left: place(nowS, lengthS) }} title={t`now`} />}
    </>
  );
}

/** So that a label at an end stays within the frame. */
function clamped(atS: number, lengthS: number): number {
  return Math.min(Math.max(atS, 0.03 * lengthS), 0.97 * lengthS);
}

/** The place of the bar that a key leads to: left and right by time, up and down to another node. */
function nextBar(key: string, bars: readonly Bar[], index: number): number | undefined {
  const last = bars.length - 1;
  if (last < 0) return undefined;
  const node = bars[index]?.node;
  switch (key) {
    case "ArrowRight":
      return Math.min(last, index + 1);
    case "ArrowLeft":
      return Math.max(0, index - 1);
    case "ArrowDown": {
      const next = bars.findIndex((bar, place) => place > index && bar.node !== node);
      return next < 0 ? Math.max(0, index) : next;
    }
    case "ArrowUp": {
      const before = bars.findLastIndex((bar, place) => place < index && bar.node !== node);
      return before < 0 ? 0 : bars.findIndex((bar) => bar.node === bars[before]?.node);
    }
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

function barText(bar: Bar, since: string): string {
  const at = (seconds: number) => clock(new Date(new Date(since).getTime() + 1000 * seconds).toISOString());
  const parts = [t`${barName(bar)} on ${bar.node}, ${gpusText(bar)}`, t`${at(bar.sinceS)} to ${bar.p50S === null ? at(bar.untilS) : t`now`}`];
  if (bar.job) parts.push(bar.job.organisation);
  if (bar.waitedS !== null) parts.push(t`waited ${duration(bar.waitedS)} for its GPUs`);
  if (bar.p50S !== null) parts.push(t`predicted finish in ${duration(Math.max(0, bar.p50S - bar.untilS))}`);
  return parts.join(" · ");
}
