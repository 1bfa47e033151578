// SPDX-License-Identifier: Apache-2.0
// Remedies of inspection are written for users of the API; on pages they name the controls instead.
import { t } from "@lingui/core/macro";

/** Of the field of the upload that the API knows as targets=none. */
export const NO_TARGETS = t`It has no targets`;
/** Of the field of a table's columns that the API knows as target. */
export const TARGET_COLUMN = t`Target column`;

const TARGET = /Name the target: one of (.+?)\.(?= To predict |$)/;
const WITHOUT = /To predict [^.]*say targets=none\./;

/** What to do, with the words of the page. */
export function remedyOnPage(remedy: string): string {
  return remedy
    .replace(TARGET, (_, names: string) => t`Choose one under “${TARGET_COLUMN}”: ${names}.`)
    .replace(WITHOUT, () => t`To predict only, upload it as a new version and tick “${NO_TARGETS}”.`);
}
