// SPDX-License-Identifier: Apache-2.0
// A predicted time, relative to now; once it has passed it is overdue, since the prediction did not come true.
import { until, useNow } from "@/lib/time";

interface Props {
  /** null: there is no prediction. */
  at: string | null;
  unknown?: string;
}

export function PredictedTime({ at, unknown = "–" }: Props) {
  const now = useNow(10);
  if (at === null) return <>{unknown}</>;
  return (
    <time dateTime={at} title={`Predicted for ${new Date(at).toLocaleString()}`}>
      {until(at, now)}
    </time>
  );
}
