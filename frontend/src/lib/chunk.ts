// SPDX-License-Identifier: Apache-2.0
// Loads a part of the dashboard's code on demand. Code that does not arrive is an error of its own kind: reloading mends it.
import { t } from "@lingui/core/macro";
import { type ComponentType, lazy } from "react";

import { loadTexts } from "@/locales/locale";

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

async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new ChunkLoadError(error);
  }
}
