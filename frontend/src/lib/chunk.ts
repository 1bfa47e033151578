// SPDX-License-Identifier: Apache-2.0
// Loads a part of the dashboard's code on demand. Code that does not arrive is an error of its own kind: reloading mends it.
import { t } from "@lingui/core/macro";
import { type ComponentType, lazy } from "react";

import { loadTexts } from "@/locales/locale";

const AGAIN_MS = 2_000;

/** Code did not arrive: most often a new version of MLHub has replaced the files of the one that is shown. */
export class ChunkLoadError extends Error {
  constructor(cause: unknown) {
    super(t`A part of this page could not be loaded.`, { cause });
    this.name = "ChunkLoadError";
  }
}

/** A route's `lazy`, from the import of its page; the texts of its feature come before. */
export function pageChunk(feature: string, load: () => Promise<ComponentType>): () => Promise<{ Component: ComponentType }> {
  return async () => ({
    Component: await loaded(async () => {
      await loadTexts(feature);
      return load();
    }),
  });
}

/** A component whose code is loaded when it is first drawn, inside a Suspense. */
export function lazyComponent<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loaded(load) }));
}

/** While the server cannot be reached it waits: what is on the page stays, with what was typed into it. */
async function loaded<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      if (await isReachable()) return lastTry(load, error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** The server may have come back in between. */
async function lastTry<T>(load: () => Promise<T>, cause: unknown): Promise<T> {
  try {
    return await load();
  } catch {
    throw new ChunkLoadError(cause);
  }
}

async function isReachable(): Promise<boolean> {
  try {
    const { status } = await fetch("/favicon.svg", { method: "HEAD", cache: "no-store" });
    return status < 500; // what stands before a server that is away answers 502 to 504
  } catch {
    return false;
  }
}
