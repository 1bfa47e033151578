// SPDX-License-Identifier: Apache-2.0
// The dashboard's rules: strict types, the hooks' rules, and walls: lib < api < domain < components < features < app.
import { readdirSync } from "node:fs";

import { defineConfig, type OxlintOverride } from "oxlint";

const features = readdirSync(new URL("./src/features", import.meta.url));

/** Files of a layer may not import what `patterns` match. */
function wall(files: string[], patterns: string[], message: string): OxlintOverride {
  return { files, rules: { "no-restricted-imports": ["error", { patterns: [{ group: patterns, message }] }] } };
}

/** What is no text for people: words of CSS, of SVG paths, of HTTP and of the browser, and names that no language translates. */
const NO_TEXT = [
  "^(?![A-Z])\\S+$",
  "^[A-Z0-9_-]+$",
  "^M\\W|^[Mm]-?\\d",
  "^[\\d. %-]+(px|fr|rem|em)?( |$)",
  "(minmax|hsl|color-mix|max-width|min-width)",
  "system-ui|ui-monospace",
  "^X-CSRFToken$|^Retry-After$|^Accept$|Error$|T00:00:00Z$|^noopener",
  "^MLHub$|^English$|^[KMGTP]iB$|^(DynSGD|GoSGD|GPUs)$",
  "^\\{\"|^txt log md",
];
const NO_TEXT_NAMES = ["className", "style", "styles", "key", "id", "to", "href", "type", "role", "variant", "color", "c", "size", "queryKey", "d"];
const TESTS = ["**/*.test.*", "src/testing/**"];

export default defineConfig({
  plugins: ["typescript", "react"],
  jsPlugins: ["eslint-plugin-lingui"],
  ignorePatterns: ["dist", "node_modules", "src/api/schema.d.ts"],
  categories: { correctness: "error" },
  options: { typeAware: true, typeCheck: true, reportUnusedDisableDirectives: "error", denyWarnings: true },
  rules: {
    // typescript-eslint's strict set, as far as `correctness` leaves it out
    "no-array-constructor": "error",
    "no-unused-expressions": "error",
    "no-var": "error",
    "prefer-const": "error",
    "prefer-rest-params": "error",
    "prefer-spread": "error",
    "typescript/ban-ts-comment": ["error", { minimumDescriptionLength: 10 }],
    "typescript/no-base-to-string": "error",
    "typescript/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    "typescript/no-deprecated": "error",
    "typescript/no-dynamic-delete": "error",
    "typescript/no-empty-object-type": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-extraneous-class": "error",
    "typescript/no-invalid-void-type": "error",
    "typescript/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    "typescript/no-mixed-enums": "error",
    "typescript/no-namespace": "error",
    "typescript/no-non-null-asserted-nullish-coalescing": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-require-imports": "error",
    "typescript/no-unnecessary-boolean-literal-compare": "error",
    "typescript/no-unnecessary-condition": "error",
    "typescript/no-unnecessary-template-expression": "error",
    "typescript/no-unnecessary-type-arguments": "error",
    "typescript/no-unnecessary-type-assertion": "error",
    "typescript/no-unnecessary-type-constraint": "error",
    "typescript/no-unnecessary-type-conversion": "error",
    "typescript/no-unnecessary-type-parameters": "error",
    "typescript/no-unsafe-argument": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-enum-comparison": "error",
    "typescript/no-unsafe-function-type": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/no-useless-default-assignment": "error",
    "typescript/only-throw-error": "error",
    "typescript/prefer-literal-enum-member": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/prefer-reduce-type-parameter": "error",
    "typescript/prefer-return-this-type": "error",
    "typescript/related-getter-setter-pairs": "error",
    "typescript/require-await": "error",
    "typescript/restrict-plus-operands": [
      "error",
      { allowAny: false, allowBoolean: false, allowNullish: false, allowNumberAndString: false, allowRegExp: false },
    ],
    "typescript/restrict-template-expressions": ["error", { allowNumber: true }],
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/unbound-method": "error",
    "typescript/unified-signatures": "error",
    "typescript/use-unknown-in-catch-callback-variable": "error",
  },
  overrides: [
    {
      files: ["src/**/*.{ts,tsx}"],
      excludeFiles: TESTS,
      rules: {
        // the hooks' rules, with those of React's compiler
        "react/error-boundaries": "error",
        "react/exhaustive-deps": "error",
        "react/globals": "error",
        "react/immutability": "error",
        "react/incompatible-library": "error",
        "react/preserve-manual-memoization": "error",
        "react/purity": "error",
        "react/refs": "error",
        "react/rules-of-hooks": "error",
        "react/set-state-in-effect": "error",
        "react/set-state-in-render": "error",
        "react/static-components": "error",
        "react/unsupported-syntax": "error",
        "react/use-memo": "error",
        "react/void-use-memo": "error",
        "lingui/no-unlocalized-strings": [
          "error",
          { ignore: NO_TEXT, ignoreNames: [...NO_TEXT_NAMES, { regex: { pattern: "^[A-Z0-9_]+$" } }], ignoreFunctions: ["Error", "*.join"] },
        ],
      },
    },
    wall(["src/lib/**"], ["@/api/**", "@/domain/**", "@/components/**", "@/features/**", "@/app/**"], "lib imports nothing of the dashboard."),
    wall(["src/api/**"], ["@/domain/**", "@/components/**", "@/features/**", "@/app/**"], "api imports lib only."),
    wall(["src/domain/**"], ["@/components/**", "@/features/**", "@/app/**"], "domain imports api and lib only."),
    wall(["src/components/**"], ["@/features/**", "@/app/**"], "Components import domain, api and lib only."),
    ...features.map((name) =>
      wall(
        [`src/features/${name}/**`],
        ["@/app/**", ...features.filter((other) => other !== name).map((other) => `@/features/${other}/**`)],
        "Features do not know each other: share through api, components or lib.",
      ),
    ),
  ],
});
