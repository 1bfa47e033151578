// SPDX-License-Identifier: Apache-2.0
// A catalogue, as the build compiles it.
declare module "*.po" {
  import type { Messages } from "@lingui/core";

  export const messages: Messages;
}
