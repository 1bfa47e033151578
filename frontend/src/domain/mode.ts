// SPDX-License-Identifier: Apache-2.0
// How gradients are exchanged: the two modes, and leaving the choice to MLHub.
import { t } from "@lingui/core/macro";

import type { Mode } from "@/api/types";

export const MODES: Record<Mode, string> = {
  auto: t`Automatic`,
  all_reduce: t`All-reduce`,
  parameter_server: t`Parameter server`,
};

/** Of a mode that came as free text; "" of what has none. */
export function modeLabel(text: string): string {
  return text in MODES ? MODES[text as Mode] : text;
}
