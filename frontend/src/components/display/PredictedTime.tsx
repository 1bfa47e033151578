// SPDX-License-Identifier: Apache-2.0
// A predicted time, relative to now; once it has passed it is overdue, since the prediction did not come true.
import { t } from "@lingui/core/macro";

import { until, useNow } from "@/lib/time";
import { dateLocale } from "@/locales/locale";

interface Props {
  /** null: there is no prediction. */
  at: string | null;
  unknown?: string;
}

export function PredictedTime({ at, unknown = "–" }: Props) {
  const now = useNow(10);
  if (at === null) return <>{unknown}</>;
  return (
    <time dateTime={at} title={t`Predicted for ${new Date(at).toLocaleString(dateLocale())}`}>
      {until(at, now)}
    </time>
  );
}
