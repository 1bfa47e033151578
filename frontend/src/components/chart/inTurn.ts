// SPDX-License-Identifier: Apache-2.0
// Where several charts are to be drawn at once, one a frame: in between the page answers to who uses it.

const waiting = new Set<() => void>(); // in the order that they came in
let isTaken = false; // something was drawn in this frame

/** Draws now, or in the first frame that others leave free, once however often it is asked; the answer takes it back. */
export function inTurn(draw: () => void): () => void {
  waiting.add(draw);
  if (!isTaken) next();
  return () => void waiting.delete(draw);
}

function next() {
  const [draw] = waiting;
  isTaken = draw !== undefined;
  if (draw === undefined) return;
  waiting.delete(draw);
  requestAnimationFrame(next);
  draw();
}
