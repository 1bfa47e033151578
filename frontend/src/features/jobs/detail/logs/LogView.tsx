// SPDX-License-Identifier: Apache-2.0
// The log of a job's pods: newest lines, filtered by pod, followed as they come.
import { Group, NativeSelect, Switch, Text } from "@mantine/core";
import { useLayoutEffect, useMemo, useRef, useState } from "react";

import type { LogLine } from "@/api/types";

import classes from "./LogView.module.css";

interface LogViewProps {
  lines: readonly LogLine[];
  /** Earlier lines were left out. */
  isCut: boolean;
  /** Lines may still come. */
  isLive: boolean;
}

export function LogView({ lines, isCut, isLive }: LogViewProps) {
  const [pod, setPod] = useState("");
  const [follows, setFollows] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const pods = useMemo(() => [...new Set(lines.map(podOf))].sort(), [lines]);
  const shown = useMemo(() => (pod === "" ? lines : lines.filter((line) => podOf(line) === pod)), [lines, pod]);

  // Before painting, so that a scroll event never sees new lines with the old position.
  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follows]);

  return (
    <div>
      <Group justify="space-between" mb="xs">
        <NativeSelect
          size="xs"
          aria-label="Pod"
          value={pod}
          onChange={(event) => setPod(event.currentTarget.value)}
          data={[{ value: "", label: "All pods" }, ...pods.map((name) => ({ value: name, label: name }))]}
        />
        <Switch
          size="sm"
          label="Follow"
          checked={follows}
          onChange={(event) => setFollows(event.currentTarget.checked)}
        />
      </Group>
      <div
        ref={box}
        className={classes.box}
        role="log"
        aria-label="Log"
        aria-live="off"
        tabIndex={0}
        onScroll={(event) => {
          if (!isAtEnd(event.currentTarget)) setFollows(false);
        }}
      >
        {isCut && <div className={classes.note}>… earlier lines are not shown</div>}
        {shown.map((line) => (
          <div key={line.seq} className={line.n_dropped > 0 ? classes.gap : classes.line}>
            <span className={classes.pod}>{podOf(line)}</span> {line.text}
          </div>
        ))}
        {shown.length === 0 && (
          <Text size="sm" c="dimmed" component="div">
            {isLive ? "No lines yet." : "No lines."}
          </Text>
        )}
      </div>
    </div>
  );
}

const NEAR_PX = 40;

/** A person who scrolls up wants to read: the log stops following. */
function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
}

/** "worker 0", and from the second attempt on "worker 0 · #2". */
function podOf(line: LogLine): string {
  const name = `${line.role} ${line.index}`;
  return line.attempt_number > 1 ? `${name} · #${line.attempt_number}` : name;
}
