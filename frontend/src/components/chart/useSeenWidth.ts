// SPDX-License-Identifier: Apache-2.0
// When a chart is first about to be seen, and how wide it is then: what it shows is read at that moment, not before.
import { type RefObject, useEffect, useRef, useState } from "react";

const AHEAD = "200px"; // of the part of the page that is seen: charts there are read before one scrolls to them

/** width: in pixels; null until the element comes into view. */
export function useSeenWidth<T extends Element>(): { ref: RefObject<T | null>; width: number | null } {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState<number | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.find(({ isIntersecting }) => isIntersecting);
        if (seen === undefined) return;
        setWidth(seen.boundingClientRect.width);
        observer.disconnect();
      },
      { rootMargin: AHEAD },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}
