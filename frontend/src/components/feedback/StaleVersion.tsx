// SPDX-License-Identifier: Apache-2.0
// A change that was refused because its version is stale: both versions, to choose from. Nothing for any other error.
import { Problem } from "@/api/client";
import { BothVersions } from "@/components/feedback/BothVersions";

interface Props {
  error: unknown;
  labels: Record<string, string>;
  textOf: (value: unknown) => string;
  onTheirs: () => void;
  /** Sends one's own change again, over the present version. */
  onMine: (version: number) => void;
}

export function StaleVersion({ error, labels, textOf, onTheirs, onMine }: Props) {
  if (!(error instanceof Problem) || error.status !== 409) return null;
  const { version } = error.facts;
  return (
    <BothVersions
      problem={error}
      labels={labels}
      textOf={(_, value) => textOf(value)}
      onTheirs={onTheirs}
      onMine={() => typeof version === "number" && onMine(version)}
    />
  );
}
