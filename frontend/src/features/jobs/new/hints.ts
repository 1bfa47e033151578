// SPDX-License-Identifier: Apache-2.0
// What is said of the new job's advanced settings before they are sent.
import { t } from "@lingui/core/macro";

import { nameOf, POD_SETTINGS, podSettings } from "@/domain/pods/podSetting";

import { type Draft, parsed } from "./draft";

/** What to say of hyperparameters that have the name of a resource or limit: they are the model's own. */
export function hintsOf(draft: Draft): string[] {
  const given = parsed(draft.hyperparameters) ?? {};
  return podSettings.flatMap((name) => {
    const { group, formerName } = POD_SETTINGS[name];
    if (formerName === null || !(formerName in given)) return [];
    const field = t`${group}.${name} (${nameOf(name)}, below)`;
    return [t`${formerName} is now ${field}: as a hyperparameter it reaches the model's code only.`];
  });
}
