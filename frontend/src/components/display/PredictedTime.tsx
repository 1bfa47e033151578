// A predicted moment; once it has passed, "any moment" instead of a past that did not happen.
import { useNow } from "@/lib/time";

import { RelativeTime } from "./RelativeTime";

export function PredictedTime({ at }: { at: string }) {
  const now = useNow(10);
  return Date.parse(at) < now ? <>any moment</> : <RelativeTime at={at} />;
}
