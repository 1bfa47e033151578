// SPDX-License-Identifier: Apache-2.0
// The ways to sign in here, and the provider's page for one of them.
import { t } from "@lingui/core/macro";
import { queryOptions } from "@tanstack/react-query";

import { api, Problem, unwrap } from "@/api/client";
import type { SignInMethods } from "@/api/types";

export const signInMethodsQuery = queryOptions({
  queryKey: ["sign-in methods"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/methods")),
  staleTime: Infinity, // the reason of a refusal is there for a minute only, and stays on the page
});

/** Why single sign-on failed just now, as other errors are shown. */
export function refusalOf(methods: SignInMethods | undefined): Problem | undefined {
  const refusal = methods?.refusal;
  if (!refusal) return undefined;
  return new Problem(403, { title: t`Single sign-on failed`, detail: refusal.message, ...refusal });
}

/** The browser goes to the provider. */
export function leaveFor({ address }: { address: string }): void {
  window.location.assign(address);
}
