// SPDX-License-Identifier: Apache-2.0
// What each kind of owner of a quota is called.
import { t } from "@lingui/core/macro";

const NAMES: Record<string, string> = { organisation: t`organisation`, team: t`team`, project: t`project` };

/** A kind that a newer server adds is shown as it is. */
export function ownerKind(kind: string): string {
  return NAMES[kind] ?? kind;
}
