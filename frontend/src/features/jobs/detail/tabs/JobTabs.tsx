// SPDX-License-Identifier: Apache-2.0
// The row of a job's tabs, each with an address; it stays in view, with the job's state, while one scrolls.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useEffect, useRef } from "react";
import { Link } from "react-router";

import type { JobDetail } from "@/api/types";
import { StateIcon } from "@/components/display/StateBadge";
import { PredictedTime } from "@/components/display/PredictedTime";
import { isMoving, isOver, JOB_STATES } from "@/domain/states/jobState";
import { percent } from "@/lib/quantities";

import { type TabName, TAB_LABELS, tabAddress, tabsOf } from "./tabs";
import classes from "./JobTabs.module.css";

export function JobTabs({ job, shown }: { job: JobDetail; shown: TabName }) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = row.current;
    if (element === null) return;
    // on a phone, also one that is turned, the tab may be outside the row; the page itself stays where it is
    const showTab = () => {
      const place = element.querySelector<HTMLElement>("[aria-current]");
      if (place) element.scrollLeft = place.offsetLeft - element.clientWidth / 2 + place.clientWidth / 2;
    };
    const markEnds = () => {
      const isBefore = element.scrollLeft > 1;
      const isAfter = element.scrollWidth - element.clientWidth - element.scrollLeft > 1;
      element.dataset["more"] = isBefore && isAfter ? "both" : isBefore ? "start" : isAfter ? "end" : "none";
    };
    const settle = () => {
      showTab();
      markEnds();
    };
    settle();
    const observer = new ResizeObserver(settle);
    observer.observe(element);
    element.addEventListener("scroll", markEnds, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", markEnds);
    };
  }, [shown]);
  return (
    <div className={classes.bar}>
      <nav ref={row} className={classes.tabs} aria-label={t`Parts of the job`}>
        {tabsOf(job).map((name) => (
          <Link
            key={name}
            to={tabAddress(job.id, name)}
            className={classes.tab}
            aria-current={name === shown ? "page" : undefined}
            preventScrollReset
          >
            {TAB_LABELS[name]}
          </Link>
        ))}
      </nav>
      <div className={classes.state} aria-hidden>
        <StateIcon sign={JOB_STATES[job.state].sign} />
        {JOB_STATES[job.state].label}
        {!isOver(job) && job.kind !== "notebook" && job.progress !== null && <span className={classes.faint}>{percent(job.progress)}</span>}
        {isMoving(job) && job.predicted_finish_at !== null && (
          <span className={classes.faint}>
            <Trans>
              finish <PredictedTime at={job.predicted_finish_at} />
            </Trans>
          </span>
        )}
      </div>
      {isMoving(job) && <div className={classes.progress} style={{ width: `${100 * (job.progress ?? 0)}%` }} />}
    </div>
  );
}
