// SPDX-License-Identifier: Apache-2.0
// When a pending job is predicted to start, P50 and P90; "not known" rather than a time that has come without a start. While admission
// is paused until a time, it starts no earlier than that.
import { t } from "@lingui/core/macro";

import type { Explanation } from "@/api/types";
import { PredictedTime } from "@/components/display/PredictedTime";
import { endOfPause, meaningfulStart } from "@/domain/jobs/pendingJob";
import { clock, clockRange, useNow } from "@/lib/time";

interface Props {
  /** The median. */
  at: string | null;
  /** By when it has started in nine cases of ten. */
  p90: string | null;
  explanations?: readonly Explanation[];
}

export function PredictedStart({ at, p90, explanations = [] }: Props) {
  const now = useNow(10);
  const start = meaningfulStart(at, now);
  const earliest = start === null ? endOfPause(explanations, now) : null;
  if (earliest !== null) return <>{t`not before ${clock(earliest)}`}</>;
  if (start === null) return <>{t`not known`}</>;
  return (
    <>
      <PredictedTime at={start} /> ({clockRange(start, p90)})
    </>
  );
}
