// The dashboard's rules: strict types, the hooks' rules, and walls: lib < api < domain < components < features < app.
// For the hooks' rules React's compiler reads each file, a quarter of all that ESLint takes: tests, which have no components, do
// without. One program of types for all (`project`) is cheaper than a service that expects files to change.
import lingui from "eslint-plugin-lingui";
import hooks from "eslint-plugin-react-hooks";
import { readdirSync } from "node:fs";
import tseslint from "typescript-eslint";

const features = readdirSync(new URL("./src/features", import.meta.url));

/** Files of `room` may not import what `patterns` match. */
function wall(files, patterns, message) {
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
const TESTS = ["**/*.test.*", "src/testing/**"];
const NO_TEXT_NAMES = ["className", "style", "styles", "key", "id", "to", "href", "type", "role", "variant", "color", "c", "size", "queryKey", "d"];

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { project: true, tsconfigRootDir: import.meta.dirname } } },
  { ...hooks.configs.flat["recommended-latest"], files: ["src/**/*.{ts,tsx}"], ignores: TESTS },
  {
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    ignores: TESTS,
    plugins: { lingui },
    rules: {
      "lingui/no-unlocalized-strings": [
        "error",
        { useTsTypes: true, ignore: NO_TEXT, ignoreNames: [...NO_TEXT_NAMES, { regex: { pattern: "^[A-Z0-9_]+$" } }], ignoreFunctions: ["Error", "*.join"] },
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
);
