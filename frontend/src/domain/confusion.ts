// SPDX-License-Identifier: Apache-2.0
// The confusion matrix among a result's metrics, whose names are eval/confusion/<class>/<taken for>.
const PREFIX = "eval/confusion/";

export interface Confusion {
  classes: string[];
  /** counts[target][answer] */
  counts: number[][];
}

export function isConfusion(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** The matrix, with its classes in the order of their names; null where none was computed. */
export function confusionIn(metrics: [string, number][]): Confusion | null {
  const cells = new Map(metrics.filter(([name]) => isConfusion(name)));
  if (cells.size === 0) return null;
  const named = [...cells.keys()].map((name) => name.slice(PREFIX.length).split("/")[0] ?? "");
  const classes = [...new Set(named)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const counts = classes.map((target) => classes.map((answer) => cells.get(`${PREFIX}${target}/${answer}`) ?? 0));
  return { classes, counts };
}
