// SPDX-License-Identifier: Apache-2.0
// From a job's submission, a ring, to its start: a thin line, dotted where the start is only predicted.
import { t } from "@lingui/core/macro";

import { clock, duration } from "@/lib/time";

import { place, stretch } from "./places";
import type { Wait, WaitingRow } from "./rows";
import classes from "./Timeline.module.css";

interface LineProps {
  submittedS: number;
  /** Until when it has waited. */
  untilS: number;
  /** When it will start, where it has not yet. */
  predictedS?: number;
  topPx: number;
  lengthS: number;
  title: string;
  onChoose?: () => void;
}

function WaitLine({ submittedS, untilS, predictedS, topPx, lengthS, title, onChoose }: LineProps) {
  const fromS = Math.max(0, submittedS);
  const endS = predictedS ?? untilS;
  return (
    <div className={classes.wait} title={title} onClick={onChoose} style={{ top: topPx, ...stretch(fromS, endS, lengthS) }}>
      {predictedS !== undefined && <span className={classes.toWait} />}
      <span className={classes.waited} style={{ width: place(untilS - fromS, Math.max(endS - fromS, 1)) }} />
      {submittedS >= 0 && <span className={classes.submitted} />}
      <span className={classes.started} />
    </div>
  );
}

/** Before the bar of a job's first attempt. */
export function Waited({ wait, topPx, lengthS, since, onChoose }: { wait: Wait; topPx: number; lengthS: number; since: string; onChoose: () => void }) {
  const { bar, submittedS, waitedS } = wait;
  const title = t`${bar.job?.name ?? ""}: waited ${duration(waitedS)}, submitted ${clock(bar.job?.submitted_at)}, started ${clock(timeAt(bar.sinceS, since))}`;
  return <WaitLine submittedS={submittedS} untilS={bar.sinceS} topPx={topPx} lengthS={lengthS} title={title} onChoose={onChoose} />;
}

interface WaitsProps {
  job: WaitingRow["job"];
  submittedS: number;
  startS: number;
  topPx: number;
  lengthS: number;
  nowS: number;
  since: string;
}

/** Of a job that is pending and has not run before. */
export function Waits({ job, submittedS, startS, topPx, lengthS, nowS, since }: WaitsProps) {
  const title = t`${job.name}: waited ${duration(nowS - submittedS)} until now, submitted ${clock(job.submitted_at)}, predicted start ${clock(timeAt(startS, since))}`;
  return <WaitLine submittedS={submittedS} untilS={nowS} predictedS={Math.max(nowS, startS)} topPx={topPx} lengthS={lengthS} title={title} />;
}

/** As it is drawn, for the legend. */
export function WaitSample() {
  return (
    <span className={classes.waitSample} aria-hidden="true">
      <span className={classes.waited} style={{ width: "100%" }} />
      <span className={classes.submitted} />
      <span className={classes.started} />
    </span>
  );
}

function timeAt(seconds: number, since: string): string {
  return new Date(Date.parse(since) + 1000 * seconds).toISOString();
}
