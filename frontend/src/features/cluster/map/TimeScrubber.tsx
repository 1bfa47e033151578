// SPDX-License-Identifier: Apache-2.0
// A slider over the last hours and the next ones: the map follows while one drags, the address when one lets go.
import { t } from "@lingui/core/macro";
import { Button, Group, Text } from "@mantine/core";

import { clock } from "@/lib/time";

import classes from "./ClusterMap.module.css";

export const BACK_S = 18 * 3600;
export const AHEAD_S = 6 * 3600;
const STEP_S = 300; // what the timeline of a day distinguishes

interface Props {
  /** Seconds from now; 0 is now. */
  offsetS: number;
  now: number;
  onMove: (offsetS: number) => void;
  onSettle: (offsetS: number) => void;
}

export function TimeScrubber({ offsetS, now, onMove, onSettle }: Props) {
  const shown = offsetS === 0 ? t`Now` : clock(new Date(now + offsetS * 1000).toISOString(), new Date(now));
  return (
    <Group gap="sm" className={classes.scrubbed}>
      <Text size="xs" miw={96} role="status" aria-label={t`Time shown`}>
        {shown}
        {offsetS > 0 && t`, predicted`}
      </Text>
      <Text size="xs" c="dimmed" aria-hidden>
        {t`−18 h`}
      </Text>
      <input
        type="range"
        className={classes.scrubber}
        aria-label={t`Time`}
        aria-valuetext={shown}
        min={-BACK_S}
        max={AHEAD_S}
        step={STEP_S}
        value={offsetS}
        onChange={(event) => onMove(Number(event.currentTarget.value))}
        onPointerUp={(event) => onSettle(Number(event.currentTarget.value))}
        onKeyUp={(event) => onSettle(Number(event.currentTarget.value))}
      />
      <Text size="xs" c="dimmed" aria-hidden>
        {t`+6 h`}
      </Text>
      <Button variant="default" size="compact-xs" disabled={offsetS === 0} onClick={() => onSettle(0)}>
        {t`Now`}
      </Button>
    </Group>
  );
}
