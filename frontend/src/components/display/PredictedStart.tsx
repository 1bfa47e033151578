// SPDX-License-Identifier: Apache-2.0
// When a pending job is predicted to start; "not known" rather than a time that has come without a start.
import { PredictedTime } from "@/components/display/PredictedTime";
import { meaningfulStart } from "@/domain/pendingJob";
import { useNow } from "@/lib/time";

export function PredictedStart({ at }: { at: string | null }) {
  const now = useNow(10);
  return <PredictedTime at={meaningfulStart(at, now)} unknown="not known" />;
}
