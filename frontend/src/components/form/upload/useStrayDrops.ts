// SPDX-License-Identifier: Apache-2.0
// A file that is let go next to its place would open in the browser instead of the page, and the form would be lost.
import { useEffect } from "react";

const FILES = "Files"; // the type of what is dragged

/** Refuses files everywhere in the window while the caller is shown; its own handlers must prevent the default. */
export function useStrayDrops() {
  useEffect(() => {
    function refuse(event: DragEvent) {
      if (event.defaultPrevented || !event.dataTransfer?.types.includes(FILES)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "none";
    }
    window.addEventListener("dragover", refuse);
    window.addEventListener("drop", refuse);
    return () => {
      window.removeEventListener("dragover", refuse);
      window.removeEventListener("drop", refuse);
    };
  }, []);
}
