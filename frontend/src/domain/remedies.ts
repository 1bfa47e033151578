// SPDX-License-Identifier: Apache-2.0
// Remedies of inspection are written for users of the API; on pages they name the controls instead.
import { t } from "@lingui/core/macro";

/** Of the field of the upload that the API knows as targets=none. */
export const NO_TARGETS = t`It has no targets`;
/** Of the field of a table's columns that the API knows as target. */
export const TARGET_COLUMN = t`Target column`;

/** In each language of the server's catalogue (mlhub/locale). */
const TARGET = [/Name the target: one of (.+?)\.(?= To predict |$)/, /请给出目标：(.+?) 之一。/];
const WITHOUT = [/To predict [^.]*say targets=none\./, /(?:如果只用于预测|要对没有文件夹的片段做预测)，请写 targets=none。/];

/** What to do, with the words of the page. */
export function remedyOnPage(remedy: string): string {
  const chosen = TARGET.reduce(
    (text, written) => text.replace(written, (_, names: string) => t`Choose one under “${TARGET_COLUMN}”: ${names}.`),
    remedy,
  );
  return WITHOUT.reduce((text, written) => text.replace(written, () => t`To predict only, upload it as a new version and tick “${NO_TARGETS}”.`), chosen);
}
