// SPDX-License-Identifier: Apache-2.0
// A state as icon, word and colour: states are known by the icon to who sees no colours, or looks only for a moment.
import { Badge } from "@mantine/core";

import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";

import classes from "./StateBadge.module.css";

const PATHS: Record<StateSign, string> = {
  waiting: "M5 2h6M5 14h6M5.5 2c0 3 5 3.5 5 6s-5 3-5 6M10.5 2c0 3-5 3.5-5 6s5 3 5 6",
  starting: "M8 2v3M8 11v3M2 8h3M11 8h3M3.8 3.8l2 2M10.2 10.2l2 2M3.8 12.2l2-2M10.2 5.8l2-2",
  running: "M8 2a6 6 0 1 1-6 6",
  stopping: "M3 8h6M6.5 5l3 3-3 3M12.5 3v10",
  paused: "M5.5 3v10M10.5 3v10",
  done: "M3 8.5l3.5 3.5L13 4.5",
  failed: "M4 4l8 8M12 4l-8 8",
  struck: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM3.8 12.2l8.4-8.4",
  attention: "M8 3v6M8 12.5v.01",
};

interface Props {
  sign: StateSign;
  label: string;
  color: BadgeColor;
}

export function StateBadge({ sign, label, color }: Props) {
  return (
    <Badge color={color} className={classes.badge} leftSection={<StateIcon sign={sign} />}>
      <span data-struck={sign === "struck" || undefined} className={classes.word}>
        {label}
      </span>
    </Badge>
  );
}

/** Decoration: the word stands next to it. */
export function StateIcon({ sign, size = 12 }: { sign: StateSign; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
      data-sign={sign}
      className={classes.icon}
    >
      <path d={PATHS[sign]} />
    </svg>
  );
}
