// SPDX-License-Identifier: Apache-2.0
// By what the map's GPUs are coloured: who holds them, or how much of something they use.
import { t } from "@lingui/core/macro";
import type { CSSProperties } from "react";

import { UNNAMED, colourOf } from "@/components/chart/colours";
import { percent } from "@/lib/quantities";

import type { MapGpu, MapNode } from "./model";

export const COLOURINGS = {
  organisation: t`Organisation`,
  job: t`Job`,
  use: t`GPU use`,
  memory: t`Memory`,
  network: "NIC",
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

/** From nearly nothing to full, as a mixture with the page's own colour. */
export function shade(share: number): string {
  return `color-mix(in oklab, var(--mantine-primary-color-filled) ${Math.round(8 + 92 * share)}%, var(--mantine-color-body))`;
}

export function shareOf(gpu: MapGpu, node: MapNode, colouring: Colouring): number | null {
  if (colouring === "use") return gpu.use;
  if (colouring === "memory") return gpu.memory;
  return colouring === "network" ? node.network : null;
}

/** "GPU 3: digits (Vision), 62 % used". */
export function textOf(gpu: MapGpu, node: MapNode, colouring: Colouring): string {
  const holders = gpu.holders.map(({ name, organisation }) => (organisation === null ? name : `${name} (${organisation})`));
  const held = holders.length > 0 ? holders.join(t` and `) : gpu.isUsable ? t`free` : t`unavailable`;
  const foreseen = { "": "", p50: t`, as predicted`, p90: t`, if it ends late` }[gpu.predicted];
  const share = shareOf(gpu, node, colouring);
  const measured = share === null ? "" : `, ${COLOURINGS[colouring]} ${percent(share)}`;
  return t`GPU ${gpu.index}: ${held}${foreseen}${measured}`;
}
