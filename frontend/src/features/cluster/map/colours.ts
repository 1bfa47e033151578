// SPDX-License-Identifier: Apache-2.0
// By what the map's GPUs are coloured: who holds them, or how much of something they use.
import { plural, t } from "@lingui/core/macro";
import type { CSSProperties } from "react";

import { UNNAMED, colourOf } from "@/components/chart/colours";
import { SLOWDOWN_BASES, slowerBy } from "@/domain/scheduling/sharedResource";
import { bandwidth } from "@/features/cluster/format";
import { percent } from "@/lib/quantities";

import { type LinkLoad, type MapGpu, type MapNode, loadShare } from "./model";

export const COLOURINGS = {
  organisation: t`Organisation`,
  job: t`Job`,
  use: t`GPU use`,
  memory: t`Memory`,
  temperature: t`Temperature`,
  network: "NIC",
  load: t`Link load`,
  interference: t`Slow-down`,
} as const;

export type Colouring = keyof typeof COLOURINGS;

/** What is kept of the past: not how much a GPU was used. */
export const OF_ANY_TIME: readonly Colouring[] = ["organisation", "job"];

export function isColouring(text: string | undefined): text is Colouring {
  return text !== undefined && Object.hasOwn(COLOURINGS, text);
}

export interface Palette {
  scheme: "light" | "dark";
  colouring: Colouring;
  /** Names whose place is the colour: organisations, or ids of jobs. */
  names: readonly string[];
}

/** Of a GPU that is held or measured; undefined: as an empty one. */
export function fillOf(gpu: MapGpu, node: MapNode, { scheme, colouring, names }: Palette): CSSProperties | undefined {
  if (colouring === "organisation" || colouring === "job") {
    const [first] = gpu.holders;
    if (first === undefined) return undefined;
    const name = colouring === "job" ? first.job : first.organisation;
    return { background: name === null ? UNNAMED[scheme] : colourOf(names.indexOf(name), scheme) };
  }
  const share = shareOf(gpu, node, colouring);
  return share === null ? undefined : { background: shade(share) };
}

/** Whether the colour says something of a GPU that is held; where not, it is hatched. */
export function isKnown(gpu: MapGpu, node: MapNode, colouring: Colouring): boolean {
  return OF_ANY_TIME.includes(colouring) || shareOf(gpu, node, colouring) !== null;
}

/** From nearly nothing to full, as a mixture with the page's own colour. */
export function shade(share: number): string {
  return `color-mix(in oklab, var(--mantine-primary-color-filled) ${Math.round(8 + 92 * share)}%, var(--mantine-color-body))`;
}

export function shareOf(gpu: MapGpu, node: MapNode, colouring: Colouring): number | null {
  if (colouring === "use") return gpu.use;
  if (colouring === "memory") return gpu.memory;
  if (colouring === "temperature") return temperatureShare(gpu);
  if (colouring === "interference") return slowdownShare(gpu);
  if (colouring === "load") return loadShare(node.load);
  return colouring === "network" ? node.network : null;
}

/** From a GPU at rest to one that slows itself down. */
export const COOL_C = 30;
export const HOT_C = 90;

function temperatureShare({ temperature_c: degrees }: MapGpu): number | null {
  return degrees === null ? null : Math.min(1, Math.max(0, (degrees - COOL_C) / (HOT_C - COOL_C)));
}

/** A job whose steps take twice as long has the fullest colour. */
function slowdownShare(gpu: MapGpu): number | null {
  const known = gpu.holders.flatMap(({ slowdown }) => slowdown?.ratio ?? []);
  return known.length === 0 ? null : Math.min(1, Math.max(0, Math.max(...known) - 1));
}

/** "2 Gbit/s of 10 Gbit/s"; gangs that are not measured are named, since the sum is then too small. */
export function loadText(load: LinkLoad | null): string {
  if (load === null || load.bps === null) return t`not measured`;
  const sum = t`${bandwidth(load.bps)} of ${bandwidth(load.capacity_bps)}`;
  return load.n_unknown === 0 ? sum : t`${sum}, and ${plural(load.n_unknown, { one: "# gang", other: "# gangs" })} not measured`;
}

/** "GPU 3: digits (Vision), 62 % used". */
export function textOf(gpu: MapGpu, node: MapNode, colouring: Colouring): string {
  const holders = gpu.holders.map(({ name, organisation }) => (organisation === null ? name : `${name} (${organisation})`));
  const held = holders.length > 0 ? holders.join(t` and `) : gpu.isUsable ? t`free` : t`unavailable`;
  const foreseen = { "": "", p50: t`, as predicted`, p90: t`, if it ends late` }[gpu.predicted];
  return t`GPU ${gpu.index}: ${held}${foreseen}${measuredText(gpu, node, colouring)}`;
}

function measuredText(gpu: MapGpu, node: MapNode, colouring: Colouring): string {
  if (colouring === "load") return `, ${COLOURINGS.load} ${loadText(node.load)}`;
  if (colouring === "interference") return slowdownsText(gpu);
  // oxlint-disable-next-line lingui/no-unlocalized-strings -- a unit
  if (colouring === "temperature") return gpu.temperature_c === null ? "" : `, ${Math.round(gpu.temperature_c)} °C`;
  const share = shareOf(gpu, node, colouring);
  return share === null ? "" : `, ${COLOURINGS[colouring]} ${percent(share)}`;
}

/** ", 50 % slower (measured)", of each of its jobs; a free GPU has none. */
function slowdownsText({ holders }: MapGpu): string {
  return holders
    .map(({ slowdown }) => (slowdown === null ? t`not measured` : `${slowerBy(slowdown.ratio)} (${SLOWDOWN_BASES[slowdown.basis]})`))
    .map((text) => `, ${text}`)
    .join("");
}
