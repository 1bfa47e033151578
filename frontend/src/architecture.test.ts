// SPDX-License-Identifier: Apache-2.0
// The shape of the source: what a person must find by name is in folders that can be read at a glance.
import { describe, expect, it } from "vitest";

const MOST_MODULES = 15;
/** What they ask for ends by itself, but for the scheduler's status, which each round puts off. All others live by the stream. */
const POLLING = [
  "/src/api/scheduler.ts",
  "/src/features/jobs/notebook/NotebookCard.tsx",
  "/src/features/jobs/queries.ts",
  "/src/features/members/queries.ts",
  "/src/features/retention/queries.ts",
  "/src/features/scheduler/lab/queries.ts",
];
const modules = Object.keys(import.meta.glob("/src/**/*.{ts,tsx}"));

/** Folder -> how many modules are directly in it, tests included. */
function modulesByFolder(paths: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return counts;
}

function crowdedFolders(paths: readonly string[]): string[] {
  return [...modulesByFolder(paths)]
    .filter(([, count]) => count > MOST_MODULES)
    .map(([folder, count]) => `${folder} has ${count} modules: group them into sub-folders of at most ${MOST_MODULES}.`);
}

describe("The source", () => {
  it(`has at most ${MOST_MODULES} modules in a folder`, () => {
    expect(modules.length).toBeGreaterThan(100);
    expect(crowdedFolders(modules)).toEqual([]);
  });

  it("names the folder that has become too large", () => {
    const flat = Array.from({ length: MOST_MODULES + 1 }, (_, index) => `/src/features/jobs/Part${index}.tsx`);
    expect(crowdedFolders(flat)).toEqual([expect.stringContaining("/src/features/jobs has 16 modules")]);
  });

  it("asks the server by a timer only while work is under way of which no event comes, and whether rounds have stopped", () => {
    const sources = import.meta.glob<string>("/src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
    const polling = Object.entries(sources).filter(([path, text]) => !path.includes(".test.") && text.includes("refetchInterval:"));
    expect(polling.map(([path]) => path).sort()).toEqual(POLLING);
  });
});
