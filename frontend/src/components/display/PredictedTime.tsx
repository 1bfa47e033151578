// A predicted moment; once it has passed, "any moment" instead of a past that did not happen.
import { RelativeTime } from "./RelativeTime";
import { useNow } from "@/lib/time";

export function PredictedTime({ at }: { at: string }) {
  const now = useNow(10);
  return Date.parse(at) < now ? <>any moment</> : <RelativeTime at={at} />;
}
