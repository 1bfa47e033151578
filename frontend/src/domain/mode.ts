// SPDX-License-Identifier: Apache-2.0
// How gradients are exchanged: the two modes, and leaving the choice to MLHub.
import type { Mode } from "@/api/types";

export const MODES: Record<Mode, string> = {
  auto: "Automatic",
  all_reduce: "All-reduce",
  parameter_server: "Parameter server",
};

/** Of a mode that came as free text; "" of what has none. */
export function modeLabel(text: string): string {
  return text in MODES ? MODES[text as Mode] : text;
}
