// How the cluster's parts are put into words.
import type { Node, SlotJob } from "@/api/types";
import { number } from "@/lib/quantities";

/** "25 Gbit/s". */
export function bandwidth(bits_per_s: number): string {
  return bits_per_s >= 1e9 ? `${number(bits_per_s / 1e9)} Gbit/s` : `${number(bits_per_s / 1e6)} Mbit/s`;
}

/** A job of an organisation that one does not belong to has no name here. */
export function isSomeoneElse(job: SlotJob): boolean {
  return job.id === null;
}

/** Why nothing new starts on the node; undefined when it may. */
export function trouble(node: Node): string | undefined {
  if (!node.is_ready) return "Not ready";
  if (node.maintenance !== null) return node.maintenance.drain_by === null ? "Cordoned" : "Draining";
  if (!node.is_schedulable) return "Takes no new jobs";
  return undefined;
}
