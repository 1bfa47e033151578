// SPDX-License-Identifier: Apache-2.0
// What the jobs were asked to do and what they reached: a row a job, a column for each thing in which they differ.
import { t } from "@lingui/core/macro";
import { Anchor, Button, Group, Switch, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Link } from "react-router";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { csvOf, saveText } from "@/lib/download";
import { number } from "@/lib/quantities";

import classes from "./DifferencesTable.module.css";
import type { ComparedJob } from "./queries";
import { type Value, namesOf, resultsOf, settingsOf } from "./settings";
import { useSetting } from "./useSetting";

const ROW_PX = 34;

export function DifferencesTable({ jobs }: { jobs: readonly ComparedJob[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [same, setSame] = useSetting("same", "");
  const rows = useMemo(() => jobs.map((job) => new Map([...settingsOf(job), ...resultsOf(job)])), [jobs]);
  const columns = useMemo(() => namesOf(rows, same !== "1"), [rows, same]);
  // eslint-disable-next-line react-hooks/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  // the least width is that of all rows, so that their columns line up
  const tracks = {
    gridTemplateColumns: `minmax(180px, 2fr) 116px ${columns.map(() => "minmax(110px, 1fr)").join(" ")}`,
    minWidth: 180 + 116 + 110 * columns.length,
  };
  const csv = () => csvOf([["job", "name", "state", ...columns], ...jobs.map((job, n) => [job.id, job.name, job.state, ...columns.map((name) => rows[n]?.get(name) ?? null)])]);
  return (
    <>
      <Group gap="sm">
        <Switch
          size="xs"
          label={t`Only what differs`}
          checked={same !== "1"}
          onChange={(event) => setSame(event.currentTarget.checked ? "" : "1")}
        />
        <Button size="xs" variant="default" onClick={() => saveText("jobs.csv", csv())}>
          {t`Save the table as CSV`}
        </Button>
        {columns.length === 0 && <Text size="sm">{t`These jobs were asked to do the same, and reached the same.`}</Text>}
      </Group>
      <div ref={box} className={classes.frame} role="table" aria-label={t`What differs`} aria-rowcount={jobs.length + 1} tabIndex={0}>
        <div role="rowgroup">
          <div role="row" className={classes.head} style={tracks}>
            {[t`Job`, t`State`, ...columns].map((name) => (
              <div key={name} role="columnheader" className={classes.cell} title={name}>
                {name}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={classes.rows} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const job = jobs[index];
            if (job === undefined) return null;
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                data-index={index}
                className={classes.row}
                style={{ transform: `translateY(${start}px)`, ...tracks }}
              >
                <div role="rowheader" className={classes.cell} title={job.name}>
                  <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" fw={600}>
                    {job.name}
                  </Anchor>
                </div>
                <div role="cell" className={classes.cell}>
                  <JobStateBadge state={job.state} />
                </div>
                {columns.map((name) => (
                  <div key={name} role="cell" className={classes.cell} title={shown(rows[index]?.get(name) ?? null)}>
                    {shown(rows[index]?.get(name) ?? null)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function shown(value: Value): string {
  if (value === null) return "–";
  return typeof value === "number" ? number(value) : value;
}
