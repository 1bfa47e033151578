// SPDX-License-Identifier: Apache-2.0
// The catalogues, as build/catalogues.ts divides them.
declare module "virtual:catalogues" {
  import type { Messages } from "@lingui/core";

  type Load = () => Promise<{ messages: Messages }>;
  /** By language, and then by feature; what belongs to no feature is `common`. */
  export const catalogues: Record<"zh-CN", Record<string, Load>>;
}
