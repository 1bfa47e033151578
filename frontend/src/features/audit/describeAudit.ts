// SPDX-License-Identifier: Apache-2.0
// An event's facts in the columns of the audit: what was before, what is after, where the request came from.
import { isRecord } from "@/api/client";
import type { Event } from "@/api/types";

export interface AuditText {
  before: string;
  after: string;
  /** The address of the client, where the event has one. */
  from: string;
  /** All other facts. */
  details: string;
}

const OWN_COLUMN = ["before", "after", "address", "user_agent"];

export function describeAudit({ facts }: Pick<Event, "facts">): AuditText {
  const rest = Object.entries(facts).filter(([name, value]) => !OWN_COLUMN.includes(name) && shown(value) !== "");
  return {
    before: shown(facts["before"]),
    after: shown(facts["after"]),
    from: shown(facts["address"]),
    details: rest.map(([name, value]) => `${name}: ${shown(value)}`).join(" · "),
  };
}

/** "max_gpus: 4, guarantee: none" of {max_gpus: 4, guarantee: null}. */
function shown(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map(shown).join(", ");
  if (isRecord(value)) return Object.entries(value).map(([name, each]) => `${name}: ${shown(each)}`).join(", ");
  return "";
}
