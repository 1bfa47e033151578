// SPDX-License-Identifier: Apache-2.0
// When a pending job is predicted to start, P50 and P90; "not known" rather than a time that has come without a start.
import { t } from "@lingui/core/macro";

import { PredictedTime } from "@/components/display/PredictedTime";
import { meaningfulStart } from "@/domain/jobs/pendingJob";
import { clockRange, useNow } from "@/lib/time";

interface Props {
  /** The median. */
  at: string | null;
  /** By when it has started in nine cases of ten. */
  p90: string | null;
}

export function PredictedStart({ at, p90 }: Props) {
  const now = useNow(10);
  const start = meaningfulStart(at, now);
  if (start === null) return <>{t`not known`}</>;
  return (
    <>
      <PredictedTime at={start} /> ({clockRange(start, p90)})
    </>
  );
}
