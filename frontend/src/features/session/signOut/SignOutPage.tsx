// SPDX-License-Identifier: Apache-2.0
// Signing out, on a page of its own: what the shell listens to and reads has ended before the session does, so that nothing is
// refused on the way out. Who came by a link is asked first.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef } from "react";
import { useLocation, useNavigate } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { AccountPaper } from "@/features/session/AccountPaper";

export function SignOutPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const state: unknown = useLocation().state;
  const isAsked = typeof state === "object" && state !== null && "isAsked" in state;
  const signOut = useMutation({
    mutationFn: async () => {
      await queries.cancelQueries();
      await endSession();
    },
    onSuccess: async () => {
      queries.getQueryCache().clear();
      await navigate("/sign-in", { replace: true });
    },
  });
  const begin = useEffectEvent(() => signOut.mutate());
  const hasBegun = useRef(false);
  useEffect(() => {
    document.title = t`Sign out · MLHub`;
    if (!isAsked || hasBegun.current) return;
    hasBegun.current = true;
    begin();
  }, [isAsked]);

  return (
    <AccountPaper title={t`Sign out`} text={t`What runs goes on: jobs, studies and API tokens.`}>
      {signOut.isPending ? (
        <Loading label={t`Signing out`} />
      ) : (
        <>
          <ProblemAlert error={signOut.error} />
          <Button onClick={() => signOut.mutate()}>{t`Sign out`}</Button>
          <TextLink to="/">{t`Stay signed in`}</TextLink>
        </>
      )}
    </AccountPaper>
  );
}

/** A session that has ended already is what was wanted. */
async function endSession(): Promise<void> {
  try {
    await unwrap(api.POST("/api/v1/auth/logout"));
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) throw error;
  }
}
