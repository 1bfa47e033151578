// SPDX-License-Identifier: Apache-2.0
// Large parts of a page that are made one after the other: in between the page answers to who scrolls it.
import { Children, type ReactNode, useEffect, useState } from "react";

/** The first child is there at once, one more in each frame. */
export function OneByOne({ children }: { children: ReactNode }) {
  const parts = Children.toArray(children);
  const [nShown, setShown] = useState(1);
  const isWhole = nShown >= parts.length;
  useEffect(() => {
    if (isWhole) return;
    const frame = requestAnimationFrame(() => setShown(nShown + 1));
    return () => cancelAnimationFrame(frame);
  }, [nShown, isWhole]);
  return parts.slice(0, nShown);
}
