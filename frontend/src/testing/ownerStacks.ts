// SPDX-License-Identifier: Apache-2.0
// Elements keep no stack of the component that made them. React's development build takes one for each of the first 10,000
// elements of a second, a sixth of the processors' time of these tests, and shows it only with its own warnings.
import * as React from "react";

const INTERNALS = "__CLIENT_INTERNALS_DO_NOT_USE_OR_WARN_USERS_THEY_CANNOT_UPGRADE";
const COUNT = "recentlyCreatedOwnerStacks";

/** As if this second had had its 10,000. */
export function withoutOwnerStacks() {
  const internals: unknown = Reflect.get(React, INTERNALS);
  if (typeof internals !== "object" || internals === null || !(COUNT in internals)) {
    throw new Error(`React ${React.version} no longer has ${COUNT}: see what limits stacks of owners now, or remove this file.`);
  }
  const setting = {
    get: () => Infinity,
    set() {
      // A new second begins: it has had its 10,000, too.
    },
  };
  Object.defineProperty(internals, COUNT, { ...setting, configurable: true });
}
