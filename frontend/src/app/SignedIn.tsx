// SPDX-License-Identifier: Apache-2.0
// Lets only people who are signed in past; others sign in first and come back.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Navigate, useLocation } from "react-router";

import { pageOfMlflow } from "@/app/mlflowAddress";
import { Problem } from "@/api/client";
import { meQuery } from "@/api/session";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Page } from "@/components/layout/Page";

export function SignedIn({ children }: { children: ReactNode }) {
  const me = useQuery(meQuery);
  const { pathname, search, hash } = useLocation();
  const page = pathname === "/" ? pageOfMlflow(hash) : null;
  if (page !== null) return <Navigate to={page} replace />;
  if (me.error instanceof Problem && me.error.status === 401) {
    return <Navigate to={`/sign-in?next=${encodeURIComponent(pathname + search)}`} replace />;
  }
  if (me.data) return children;
  if (me.isPending) return <Loading label={t`Signing in`} />;
  return (
    <Page title="MLHub">
      <ProblemAlert error={me.error} onRetry={() => void me.refetch()} />
    </Page>
  );
}
