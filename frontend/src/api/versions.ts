// SPDX-License-Identifier: Apache-2.0
// What reading versions of datasets and of models has in common.
import type { VersionState } from "@/api/types";

/** Until inspection is over there is nothing to see; the stream reports it, too, but this does not depend on it. */
const WHILE_INSPECTING_MS = 2_000;

/** How soon to read again what has versions in these states; false: it need not be. */
export function refreshOf(states: readonly (VersionState | undefined)[] | undefined): number | false {
  return states?.includes("inspecting") ? WHILE_INSPECTING_MS : false;
}
