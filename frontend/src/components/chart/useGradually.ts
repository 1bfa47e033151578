// SPDX-License-Identifier: Apache-2.0
// Hundreds of shapes of one drawing, some more in each frame: in between the page answers to who uses it.
import { useEffect, useMemo, useState } from "react";

const AT_ONCE = 100;

/** The things in groups, of which the first are there at once, and one more in each frame; of few things all are. */
export function useGradually<T>(things: readonly T[]): (readonly T[])[] {
  const groups = useMemo(() => {
    const n = Math.ceil(things.length / AT_ONCE);
    return Array.from({ length: n }, (_, index) => things.slice(index * AT_ONCE, (index + 1) * AT_ONCE));
  }, [things]);
  const [nShown, setShown] = useState(1);
  useEffect(() => {
    if (nShown >= groups.length) return;
    const frame = requestAnimationFrame(() => setShown(nShown + 1));
    return () => cancelAnimationFrame(frame);
  }, [nShown, groups.length]);
  return groups.slice(0, nShown);
}
