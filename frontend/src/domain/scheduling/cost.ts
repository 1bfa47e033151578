// SPDX-License-Identifier: Apache-2.0
// What a restart costs a job, in the reader's language: the seconds, how sure they are, and what they rest on.
import { plural, t } from "@lingui/core/macro";

import type { Costs } from "@/api/types";

type Cost = Costs["start"];

function restsOn({ basis, n }: Cost): string {
  switch (basis) {
    case "unsaved":
      return t`in no checkpoint yet`;
    case "family":
      return plural(n, { one: "# observation", other: "# observations" });
    case "few":
      return plural(n, { one: "# observation and those of others", other: "# observations and those of others" });
    case "others":
      return t`those of others`;
    case "prior":
      return t`a guess`;
  }
}

export function costText(cost: Cost): string {
  const digits = cost.seconds >= 10 ? 0 : 1;
  const seconds = cost.seconds.toFixed(digits);
  const error = cost.error_s.toFixed(digits);
  const basis = restsOn(cost);
  return cost.error_s > 0 ? t`${seconds} s ± ${error} s (${basis})` : t`${seconds} s (${basis})`;
}
