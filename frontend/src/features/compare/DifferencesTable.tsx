// SPDX-License-Identifier: Apache-2.0
// What jobs and runs were asked to do and what they reached: a row each, a column for each thing in which they differ.
import { t } from "@lingui/core/macro";
import { Anchor, Button, Group, Switch, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Link } from "react-router";

import { JobStateBadge } from "@/components/display/JobStateBadge";
import { RunStatusBadge } from "@/components/display/RunStatusBadge";
import { csvOf, saveText } from "@/lib/download";
import { number } from "@/lib/quantities";

import classes from "./DifferencesTable.module.css";
import { type Compared, type Value, namesOf, valuesOf } from "./settings";
import { useSetting } from "./useSetting";

const ROW_PX = 34;

export function DifferencesTable({ compared }: { compared: readonly Compared[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [same, setSame] = useSetting("same", "");
  const rows = useMemo(() => compared.map(valuesOf), [compared]);
  const columns = useMemo(() => namesOf(rows, same !== "1"), [rows, same]);
  // oxlint-disable-next-line react/incompatible-library -- no compiler memoizes components here
  const virtualizer = useVirtualizer({
    count: compared.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  // the least width is that of all rows, so that their columns line up
  const tracks = {
    gridTemplateColumns: `minmax(180px, 2fr) 116px ${columns.map(() => "minmax(110px, 1fr)").join(" ")}`,
    minWidth: 180 + 116 + 110 * columns.length,
  };
  const csv = () => csvOf([["job", "name", "state", ...columns], ...compared.map(({ id, name: called, state }, n) => [id, called, state, ...columns.map((name) => rows[n]?.get(name) ?? null)])]);
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
      <div ref={box} className={classes.frame} role="table" aria-label={t`What differs`} aria-rowcount={compared.length + 1} tabIndex={0}>
        <div role="rowgroup">
          <div role="row" className={classes.head} style={tracks}>
            {[compared.some(({ kind }) => kind === "run") ? t`Job or run` : t`Job`, t`State`, ...columns].map((name) => (
              <div key={name} role="columnheader" className={classes.cell} title={name}>
                {name}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={classes.rows} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const row = compared[index];
            if (row === undefined) return null;
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                data-index={index}
                className={classes.row}
                style={{ transform: `translateY(${start}px)`, ...tracks }}
              >
                <div role="rowheader" className={classes.cell} title={row.name} dir="auto">
                  <Anchor component={Link} to={`/${row.kind}s/${row.id}`} size="sm" fw={600}>
                    {row.name}
                  </Anchor>
                </div>
                <div role="cell" className={classes.cell}>
                  {row.kind === "job" ? <JobStateBadge state={row.state} /> : <RunStatusBadge status={row.state} />}
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
