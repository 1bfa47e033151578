// SPDX-License-Identifier: Apache-2.0
// What a figure's menu takes pictures of, where its code is loaded on demand: nothing can be saved before it is there.
import { type RefCallback, type RefObject, useCallback, useRef, useState } from "react";

/** ref: for the element that is drawn in; of, isDrawn: for the menu. */
export function useDrawing<T extends Element>(): { ref: RefCallback<T>; of: RefObject<T | null>; isDrawn: boolean } {
  const of = useRef<T>(null);
  const [isDrawn, setDrawn] = useState(false);
  const ref = useCallback((element: T | null) => {
    of.current = element;
    setDrawn(element !== null);
  }, []);
  return { ref, of, isDrawn };
}
