// SPDX-License-Identifier: Apache-2.0
// What a query answered, once it is there; until then that it is on its way, and always what went wrong.
import { t } from "@lingui/core/macro";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Loading } from "./Loading";
import { ProblemAlert } from "./ProblemAlert";

export type Query<T> = Pick<UseQueryResult<T>, "data" | "error" | "isPending" | "refetch">;

interface Props<T> {
  of: Query<T>;
  /** What is awaited. */
  label?: string;
  children: (answer: T) => ReactNode;
}

export function QueryResult<T>({ of: query, label = t`Loading`, children }: Props<T>) {
  return (
    <>
      <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      {query.isPending && <Loading label={label} />}
      {query.data !== undefined && children(query.data)}
    </>
  );
}
