// SPDX-License-Identifier: Apache-2.0
// What pods used over time as the lines of charts: a chart a resource, a line a pod, by seconds since the first sample.
import { t } from "@lingui/core/macro";

import type { UsageOverTime } from "@/api/types";
import { csvOf } from "@/lib/download";

type Pod = UsageOverTime["pods"][number];

export interface UsageLine {
  id: string;
  label: string;
  x: number[];
  y: (number | null)[];
}

export function podName({ role, index }: Pick<Pod, "role" | "index">): string {
  return role === "worker" ? t`Worker ${index}` : t`Server ${index}`;
}

/** The lines of one resource; pods that did not measure it are left out. */
export function linesOf({ pods }: UsageOverTime, resource: string): UsageLine[] {
  const began = beginning(pods);
  return pods.flatMap((pod) => {
    const points = pod.points.filter(({ values }) => values[resource] !== undefined);
    if (points.length === 0) return [];
    return {
      id: `${pod.role} ${pod.index}`,
      label: podName(pod),
      x: points.map(({ at }) => (Date.parse(at) - began) / 1000),
      y: points.map(({ values }) => values[resource] ?? null),
    };
  });
}

/** A row for each pod, time and resource. */
export function usageCsv({ pods, attempt_number }: UsageOverTime): string {
  const rows = pods.flatMap(({ role, index, points }) =>
    points.flatMap(({ at, values }) =>
      Object.entries(values).map(([resource, value]) => [attempt_number, role, index, at, resource, value] as const),
    ),
  );
  return csvOf([["attempt", "role", "index", "at", "resource", "value"], ...rows]);
}

function beginning(pods: readonly Pod[]): number {
  return Math.min(...pods.flatMap(({ points }) => (points[0] === undefined ? [] : [Date.parse(points[0].at)])));
}
