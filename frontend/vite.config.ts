// SPDX-License-Identifier: Apache-2.0
// Builds the dashboard into dist/ (Django serves it); `npm run dev` passes the API through to a running MLHub.
import { fileURLToPath } from "node:url";

import { lingui } from "@lingui/vite-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { catalogues } from "./build/catalogues.ts";
import { compiledTexts } from "./build/compiledTexts.ts";
import { firstLoadLimit } from "./build/firstLoad.ts";
import { mantineStyles } from "./build/mantineStyles.ts";
import { nativeScroll } from "./build/nativeScroll.ts";
import { preloadStart } from "./build/preloadStart.ts";
import { precompressed } from "./build/precompressed.ts";
import { chunkOf } from "./build/startChunk.ts";

const backend = "http://127.0.0.1:8000";
const FIRST_LOAD_LIMITS = { english_kb: 230, translated_kb: 242 };
const TESTS = ["src/**/*.test.{ts,tsx}", "build/**/*.test.ts"];
const REPLACING = "src/**/*.isolated.test.tsx";

// English stands in the code also of the build: its readers load no catalogue.
const translations = [lingui({ macroTransform: { macro: { descriptorFields: "message" } } }), compiledTexts(), catalogues()];

export default defineConfig({
  plugins: [...translations, react(), nativeScroll(), mantineStyles(), preloadStart(), precompressed(), firstLoadLimit(FIRST_LOAD_LIMITS)],
  resolve: {
    alias: {
      "@": fileURLToPath(new URL("./src", import.meta.url)),
      // tests run in Node, for which the package has another build, without files of browsers
      "tus-js-client": fileURLToPath(new URL("./node_modules/tus-js-client/lib.esm/browser/index.js", import.meta.url)),
    },
  },
  server: { proxy: { "/api": backend, "/admin": backend, "/static": backend } },
  build: {
    target: "es2023",
    assetsDir: "assets",
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // what changes with a new version of a library only, and every page needs
            { name: "react", test: /node_modules\/(?:react|react-dom|scheduler|react-router|@tanstack\/(?:query-core|react-query))\//, priority: 2 },
            // by itself: texts are translated as their modules are loaded, which is once the entry knows the language
            { name: chunkOf("language", "src/main.tsx"), priority: 3 },
            { name: chunkOf("shell", "src/app/start.tsx"), priority: 1 },
            // one file instead of a dozen for most pages: what at least so many parts loaded on demand share
            { name: "common", minShareCount: 25 },
          ],
        },
      },
    },
  },
  test: {
    environment: "jsdom",
    server: { deps: { inline: [/tus-js-client/] } },
    environmentOptions: { jsdom: { url: "http://localhost:3000/" } },
    setupFiles: ["./src/testing/setup.ts"],
    css: false,
    restoreMocks: true,
    testTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // The page, the server and their state are new for each test; modules are loaded once a process, but for those files
    // that replace a module for themselves.
    projects: [
      { extends: true, test: { name: "shared", isolate: false, include: TESTS, exclude: ["**/node_modules/**", REPLACING] } },
      { extends: true, test: { name: "isolated", isolate: true, include: [REPLACING] } },
    ],
  },
});
