// SPDX-License-Identifier: Apache-2.0
// A moment, relative to now, with the exact time on hover.
import { ago, useNow } from "@/lib/time";
import { dateLocale } from "@/locales/locale";

export function RelativeTime({ at }: { at: string | null | undefined }) {
  const now = useNow(10);
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString(dateLocale())}>
      {ago(at, now)}
    </time>
  );
}
