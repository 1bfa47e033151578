// A predicted moment; once it has passed, "any moment" instead of a past that did not happen.
import { When } from "@/components/When";
import { useNow } from "@/lib/time";

export function Expected({ at }: { at: string }) {
  const now = useNow(10);
  return Date.parse(at) < now ? <>any moment</> : <When at={at} />;
}
