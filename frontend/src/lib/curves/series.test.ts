// SPDX-License-Identifier: Apache-2.0
// The laws of merging curves: nothing is lost or doubled, whatever the order, the overlap or the batches.
import { describe, expect, it } from "vitest";

import { type Curves, type KeyedPoint, NO_CURVES, columns, groupKeys, mergePoints, summary } from "./series";

function point(key: string, attempt_number: number, step: number, value = step): KeyedPoint {
  return { key, attempt_number, step, value, epoch: step / 10, at: "2026-01-01T00:00:00Z" };
}

/** A seeded generator, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Attempts that each resume somewhere at or before the end of the one before. */
function history(next: () => number): KeyedPoint[] {
  const points: KeyedPoint[] = [];
  let end = 0;
  for (let attempt = 1; attempt <= 1 + Math.floor(next() * 4); attempt++) {
    const first = Math.floor(next() * (end + 1));
    end = first + 1 + Math.floor(next() * 20);
    for (let step = first; step < end; step++) {
      points.push(point("train/loss", attempt, step, attempt * 1000 + step));
      if (step % 5 === 0) points.push(point("eval/accuracy", attempt, step, attempt * 1000 + step));
    }
  }
  return points;
}

function shuffled<T>(items: readonly T[], next: () => number): T[] {
  return items
    .map((item) => ({ item, order: next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

function plain(curves: Curves): unknown {
  return [...curves].sort(([a], [b]) => a.localeCompare(b));
}

/** The definition, written down naively. */
function truth(points: readonly KeyedPoint[], key: string): number[] {
  return points
    .filter((p) => p.key === key)
    .filter((p) => !points.some((q) => q.attempt_number > p.attempt_number && q.step <= p.step))
    .sort((a, b) => a.step - b.step)
    .map((p) => p.value);
}

const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

describe("mergePoints", () => {
  it("lets the latest attempt win from its first step on", () => {
    const curves = mergePoints(NO_CURVES, [
      point("loss", 1, 1, 0.9),
      point("loss", 1, 2, 0.8),
      point("loss", 1, 3, 0.7),
      point("loss", 2, 2, 0.5),
    ]);
    expect(curves.get("loss")?.map((p) => [p.step, p.value])).toEqual([
      [1, 0.9],
      [2, 0.5],
    ]);
  });

  it.each(seeds)("agrees with the definition however points arrive, doubled and in any batches (seed %i)", (seed) => {
    const next = random(seed);
    const points = history(next);
    const arriving = shuffled([...points, ...points.filter(() => next() < 0.3)], next);
    let curves = NO_CURVES;
    while (arriving.length > 0) curves = mergePoints(curves, arriving.splice(0, 1 + Math.floor(next() * 7)));
    for (const key of ["train/loss", "eval/accuracy"]) {
      expect((curves.get(key) ?? []).map((p) => p.value)).toEqual(truth(points, key));
    }
    expect(plain(curves)).toEqual(plain(mergePoints(NO_CURVES, points)));
  });

  it("keeps the array of a curve that gained nothing", () => {
    const before = mergePoints(NO_CURVES, [point("train/loss", 1, 1), point("eval/loss", 1, 1)]);
    const after = mergePoints(before, [point("train/loss", 1, 2), point("eval/loss", 1, 1)]);
    expect(after.get("eval/loss")).toBe(before.get("eval/loss"));
    expect(after.get("train/loss")).not.toBe(before.get("train/loss"));
    expect(mergePoints(before, [])).toBe(before);
  });
});

describe("groupKeys", () => {
  it("puts training and evaluation of the same metric into one chart, loss first", () => {
    expect(groupKeys(["eval/accuracy", "eval/loss", "train/loss", "lr", "train/a/b"])).toEqual([
      { name: "loss", keys: ["train/loss", "eval/loss"] },
      { name: "a/b", keys: ["train/a/b"] },
      { name: "accuracy", keys: ["eval/accuracy"] },
      { name: "lr", keys: ["lr"] },
    ]);
  });
});

describe("columns", () => {
  it("lines curves up by step and leaves gaps empty", () => {
    const curves = mergePoints(NO_CURVES, [point("a", 1, 1, 10), point("a", 1, 3, 30), point("b", 1, 2, 0)]);
    expect(columns([curves.get("a") ?? [], curves.get("b") ?? []])).toEqual([
      [1, 2, 3],
      [10, null, 30],
      [null, 0, null],
    ]);
  });
});

describe("summary", () => {
  it("names the last point and the extremes", () => {
    const points = [point("a", 1, 1, 3), point("a", 1, 2, 9), point("a", 1, 3, 5)];
    expect(summary(points)).toMatchObject({ latest: { step: 3, value: 5 }, lowest: 3, highest: 9 });
    expect(summary([])).toBeNull();
  });
});
