// SPDX-License-Identifier: Apache-2.0
// Names in the page what the dashboard starts with, so that it is loaded while the entry finds out the language.
import type { HtmlTagDescriptor, Plugin } from "vite";

import { type Chunks, startsOf, staticClosure } from "./firstLoad.ts";

/** The scripts to preload, with their styles: all with which the dashboard starts. */
export function preloads(chunks: Chunks): string[] {
  const scripts = [...staticClosure(chunks, startsOf(chunks))];
  const styles = scripts.flatMap((file) => [...(chunks[file]?.viteMetadata?.importedCss ?? [])]);
  return [...scripts, ...styles];
}

export function preloadStart(): Plugin {
  return {
    name: "mlhub:preload-start",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle = {} }): HtmlTagDescriptor[] {
        const chunks = Object.fromEntries(Object.entries(bundle).filter(([, { type }]) => type === "chunk")) as Chunks;
        const missing = preloads(chunks).filter((file) => !html.includes(`/${file}"`));
        return missing.map((file) => ({ tag: "link", attrs: attributes(file), injectTo: "head" }));
      },
    },
  };
}

function attributes(file: string): Record<string, string | boolean> {
  const href = `/${file}`;
  return file.endsWith(".css") ? { rel: "preload", as: "style", crossorigin: true, href } : { rel: "modulepreload", crossorigin: true, href };
}
