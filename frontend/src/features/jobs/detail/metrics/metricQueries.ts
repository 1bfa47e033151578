// SPDX-License-Identifier: Apache-2.0
// A job's metrics: their names apart from their points, and of each curve what a chart can show. The stream adds to both.
import { type QueryClient, type QueryKey, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { MetricName } from "@/api/types";
import { type CurvePoint, type KeyedPoint, type StepRange, isNewer, mergePoints } from "@/lib/curves/series";

import { liveKey, liveStartQuery } from "../liveParts";

/** The most points that one answer has (mlhub/metrics/points/curves.py). */
export const MAX_POINTS = 1600;
const MAX_LIVE_POINTS = 2 * MAX_POINTS; // of a curve that grew: it is then read again, thinned
const KEPT_CURRENT = { staleTime: Infinity, refetchOnWindowFocus: false, structuralSharing: false } as const;

export type Names = ReadonlyMap<string, MetricName>;

const keyOf = (id: string, ...rest: string[]): QueryKey => [...liveKey(id), "metrics", ...rest];

export const namesQuery = (id: string) =>
  queryOptions({
    queryKey: keyOf(id, "names"),
    queryFn: async ({ client }): Promise<Names> => {
      const names = await readNames(id);
      const known = client.getQueryData<Names>(keyOf(id, "names"));
      return new Map([...(known ?? []), ...names.map((name) => [name.key, newest(known?.get(name.key), name)] as const)]);
    },
    gcTime: 0,
    ...KEPT_CURRENT,
  });

/** A whole curve, kept current by the stream. maxPoints: twice the pixels that the chart is wide. */
export const curveQuery = (id: string, key: string, maxPoints: number) =>
  queryOptions({
    queryKey: keyOf(id, "curve", key),
    queryFn: async ({ client }): Promise<readonly CurvePoint[]> => {
      await client.query(liveStartQuery(client, id)); // what comes after it is sent by the stream
      const points = await readCurve(id, { key, max_points: maxPoints });
      const last = points.at(-1);
      const known = client.getQueryData<readonly CurvePoint[]>(keyOf(id, "curve", key)) ?? [];
      const later = known.filter((point) => last === undefined || isNewer(point, last));
      return mergePoints(new Map([[key, points]]), later.map((point) => ({ key, ...point }))).get(key) ?? points;
    },
    ...KEPT_CURRENT,
  });

/** A part of a curve, with every point when there are at most maxPoints. */
export const rangeQuery = (id: string, key: string, range: StepRange, maxPoints: number) =>
  queryOptions({
    queryKey: ["job", id, "curve", key, range.first, range.last, maxPoints],
    queryFn: () => readCurve(id, { key, max_points: maxPoints, first_step: range.first, last_step: range.last }),
    refetchOnWindowFocus: false,
  });

/**
 * Adds what the stream brought to the names, and to the curves that were read or are being read; others wait until they
 * are looked at.
 */
export function addPoints(client: QueryClient, id: string, points: readonly KeyedPoint[]): void {
  if (client.getQueryState(keyOf(id, "names")) !== undefined) {
    client.setQueryData<Names>(keyOf(id, "names"), (known) => withPoints(known ?? new Map(), points));
  }
  const curves = readCurves(client, id);
  const shown = points.filter(({ key }) => curves.has(key));
  for (const [key, merged] of mergePoints(curves, shown)) {
    if (merged === curves.get(key)) continue;
    const queryKey = keyOf(id, "curve", key);
    client.setQueryData(queryKey, merged);
    if (merged.length > MAX_LIVE_POINTS) void client.invalidateQueries({ queryKey });
  }
}

/** Those in the cache. One that is on its way counts, without points: what comes meanwhile would otherwise be missed. */
function readCurves(client: QueryClient, id: string): Map<string, readonly CurvePoint[]> {
  const found = new Map<string, readonly CurvePoint[]>();
  for (const { queryKey, state } of client.getQueryCache().findAll({ queryKey: keyOf(id, "curve") })) {
    const points = state.data as readonly CurvePoint[] | undefined;
    if (points !== undefined || state.fetchStatus === "fetching") found.set(String(queryKey.at(-1)), points ?? []);
  }
  return found;
}

function withPoints(known: Names, points: readonly KeyedPoint[]): Names {
  const names = new Map(known);
  for (const { key, step, value, attempt_number } of points) {
    const name = names.get(key);
    names.set(key, newest(name, { key, last_step: step, last_value: value, attempt_number, n_points: name?.n_points ?? 1 }));
  }
  return names;
}

function newest(known: MetricName | undefined, found: MetricName): MetricName {
  if (known === undefined) return found;
  const place = ({ last_step, attempt_number }: MetricName) => ({ step: last_step, attempt_number });
  return isNewer(place(known), place(found)) ? known : found;
}

async function readNames(id: string): Promise<MetricName[]> {
  const found: MetricName[] = [];
  for (let after: string | undefined; ; ) {
    const query = after === undefined ? {} : { after };
    const page = await unwrap(api.GET("/api/v1/jobs/{id}/metrics/names", { params: { path: { id }, query } }));
    found.push(...page.names);
    if (page.next === null) return found;
    after = page.next;
  }
}

interface CurveRequest {
  key: string;
  max_points: number;
  first_step?: number;
  last_step?: number;
}

async function readCurve(id: string, query: CurveRequest): Promise<readonly CurvePoint[]> {
  const { series } = await unwrap(api.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id }, query } }));
  return series[0]?.points ?? [];
}
