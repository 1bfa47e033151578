// SPDX-License-Identifier: Apache-2.0
// Runs from elsewhere on the page that compares jobs: their parameters and newest values, and one metric's curves.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { RunDetail } from "@/api/types";

import type { Axis } from "./queries";

/** The most runs on one page: each is a request, and each of its curves. */
export const MOST_RUNS = 50;
const AT_ONCE = 6;
const POINTS = 800; // of a curve: twice the pixels of a usual chart

export const newestRunsQuery = queryOptions({
  queryKey: ["runs", {}],
  queryFn: () => unwrap(api.GET("/api/v1/runs", {})),
});

export const comparedRunsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["runs", "compared", ids],
    queryFn: () => each(ids, (id) => unwrap(api.GET("/api/v1/runs/{id}", { params: { path: { id } } }))),
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });

/** A client of MLflow says neither how many GPUs a run holds nor its epochs. */
export const hasAxis = (axis: Axis): boolean => axis === "step" || axis === "wall";

export const runCurvesQuery = (runs: readonly RunDetail[], metric: string, axis: Axis) => {
  const having = runs.filter(({ metrics }) => metrics.some(({ key }) => key === metric)).map(({ id }) => id);
  return queryOptions({
    queryKey: ["compared-run-curves", having, metric, axis],
    queryFn: () =>
      each(having, async (id) => {
        const params = { path: { id }, query: { key: metric, max_points: POINTS } };
        const { points } = await unwrap(api.GET("/api/v1/runs/{id}/metrics", { params }));
        const times = points.map(({ at }) => Date.parse(at));
        const first = times.reduce((least, time) => Math.min(least, time), Infinity);
        return {
          id,
          x: axis === "wall" ? times.map((time) => (time - first) / 1000) : points.map(({ step }) => step),
          y: points.map(({ value }) => value),
        };
      }),
    refetchOnWindowFocus: false,
    staleTime: 30_000,
    enabled: hasAxis(axis),
  });
};

/** Some at a time, in their order. */
async function each<T>(ids: readonly string[], ask: (id: string) => Promise<T>): Promise<T[]> {
  const found: T[] = [];
  for (let begin = 0; begin < ids.length; begin += AT_ONCE) {
    found.push(...(await Promise.all(ids.slice(begin, begin + AT_ONCE).map(ask))));
  }
  return found;
}
