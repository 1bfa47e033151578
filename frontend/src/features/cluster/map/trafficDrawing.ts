// SPDX-License-Identifier: Apache-2.0
// Where the links of a job's traffic are drawn: racks above their nodes, and the core above racks where it is crossed.
import type { Cluster } from "@/api/types";

import type { Place } from "./model";

export type Traffic = Cluster["traffic"][number];
type Flow = Traffic["links"][number];

export const MOST_NODES = 12;
export const COLUMN = 112;
const RACK_Y = 96;
const NODE_Y = 188;

export interface DrawnNode {
  name: string;
  x: number;
  hasServers: boolean;
}

export interface DrawnLink {
  flow: Flow;
  /** The line's ends, above and below. */
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

export interface Drawing {
  width: number;
  racks: { name: string; x: number }[];
  nodes: DrawnNode[];
  links: DrawnLink[];
  hasCore: boolean;
  nHidden: number;
}

export const LEVELS = { core: 16, rack: RACK_Y, node: NODE_Y };

/** place: the racks of the nodes, in the order of the map. Nodes stand in the order of the ranks, rack by rack. */
export function drawingOf(traffic: Traffic, place: Place, rackOf: ReadonlyMap<string, string>): Drawing {
  const shown = place.racks.flatMap((rack) => traffic.nodes.filter((node) => rackOf.get(node) === rack)).slice(0, MOST_NODES);
  const nodes = shown.map((name, at) => ({ name, x: (at + 0.5) * COLUMN, hasServers: traffic.server_nodes.includes(name) }));
  const racks = place.racks.flatMap((name) => {
    const xs = nodes.filter((node) => rackOf.get(node.name) === name).map(({ x }) => x);
    return xs.length === 0 ? [] : [{ name, x: xs.reduce((sum, x) => sum + x, 0) / xs.length }];
  });
  const width = Math.max(1, nodes.length) * COLUMN;
  const links = traffic.links.flatMap((flow): DrawnLink[] => {
    if (flow.kind === "uplink") {
      const rack = racks.find(({ name }) => name === flow.name);
      return rack === undefined ? [] : [{ flow, x1: width / 2, y1: LEVELS.core, x2: rack.x, y2: RACK_Y }];
    }
    const node = nodes.find(({ name }) => name === flow.name);
    const rack = racks.find(({ name }) => name === rackOf.get(flow.name));
    return node === undefined || rack === undefined ? [] : [{ flow, x1: rack.x, y1: RACK_Y, x2: node.x, y2: NODE_Y }];
  });
  const hasCore = links.some(({ flow }) => flow.kind === "uplink");
  return { width, racks, nodes, links, hasCore, nHidden: traffic.nodes.length - shown.length };
}
