// SPDX-License-Identifier: Apache-2.0
// The address of the page that compares jobs or runs.

/** More ids than these are in the fragment, which no server and no proxy has to read. */
export const MOST_IN_QUERY = 100;

export function compareAddress(what: "jobs" | "runs", ids: readonly string[]): string {
  return `/compare${ids.length > MOST_IN_QUERY ? "#" : "?"}${what}=${ids.join(",")}`;
}
