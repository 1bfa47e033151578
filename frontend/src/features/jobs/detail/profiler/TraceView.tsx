// SPDX-License-Identifier: Apache-2.0
// Reads a worker's trace and draws it.
import { t } from "@lingui/core/macro";
import { useQuery } from "@tanstack/react-query";

import { QueryResult } from "@/components/feedback/QueryResult";

import { FlameChart } from "./FlameChart";
import { readTrace } from "./readTrace";

export function TraceView({ address, label }: { address: string; label: string }) {
  const trace = useQuery({
    queryKey: ["profile-trace", address],
    queryFn: () => readTrace(address),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  return (
    <QueryResult of={trace} label={t`Loading the trace`}>
      {(found) => <FlameChart trace={found} label={label} />}
    </QueryResult>
  );
}
