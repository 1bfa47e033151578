// SPDX-License-Identifier: Apache-2.0
// The settings as they are typed: parameters are text, and JSON where that is what they read as.
import type { SchedulerChange, SchedulerSettings } from "@/api/types";
import { significant } from "@/lib/quantities";

export interface Draft {
  policy: string;
  parameters: Record<string, string>;
  budget_s: number;
  shadow_policy: string;
  shadow_parameters: Record<string, string>;
  shares_fairly: boolean;
  half_life_h: number;
}

const HOUR_S = 3600;
const DIGITS = 6; // of a length of time: a third of an hour stays one, there and back

export function draftOf(settings: SchedulerSettings): Draft {
  return {
    policy: settings.policy ?? "",
    parameters: typed(settings.parameters),
    budget_s: settings.budget_s ?? 10,
    shadow_policy: settings.shadow_policy ?? "",
    shadow_parameters: typed(settings.shadow_parameters),
    shares_fairly: settings.shares_fairly ?? false,
    half_life_h: significant((settings.half_life_s ?? 0) / HOUR_S, DIGITS),
  };
}

export function changeOf(draft: Draft, settings: SchedulerSettings): SchedulerChange {
  return {
    policy: draft.policy,
    parameters: read(draft.parameters),
    budget_s: draft.budget_s,
    shadow_policy: draft.shadow_policy,
    shadow_parameters: read(draft.shadow_parameters),
    shares_fairly: draft.shares_fairly,
    half_life_s: significant(draft.half_life_h * HOUR_S, DIGITS),
    version: settings.version,
  };
}

export function isChanged(draft: Draft, settings: SchedulerSettings): boolean {
  return JSON.stringify(changeOf(draft, settings)) !== JSON.stringify(changeOf(draftOf(settings), settings));
}

/** Parameters as texts of a form. */
export function typed(parameters: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

/** Empty ones are left out: the policy's own defaults count. */
export function read(parameters: Record<string, string>): Record<string, unknown> {
  const given = Object.entries(parameters).filter(([, text]) => text.trim() !== "");
  return Object.fromEntries(given.map(([name, text]) => [name, parsed(text.trim())]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
