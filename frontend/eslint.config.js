// The dashboard's rules: strict types, the hooks' rules, and walls: lib < api < domain < components < features < app.
import hooks from "eslint-plugin-react-hooks";
import { readdirSync } from "node:fs";
import tseslint from "typescript-eslint";

const features = readdirSync(new URL("./src/features", import.meta.url));

/** Files of `room` may not import what `patterns` match. */
function wall(files, patterns, message) {
  return { files, rules: { "no-restricted-imports": ["error", { patterns: [{ group: patterns, message }] }] } };
}

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  hooks.configs.flat["recommended-latest"],
  {
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
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
