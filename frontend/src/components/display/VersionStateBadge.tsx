// The state of a version of a dataset or model as a coloured word.
import { Badge } from "@mantine/core";

import type { VersionState } from "@/api/types";

const LOOKS: Record<VersionState, { label: string; color: string }> = {
  inspecting: { label: "Inspecting", color: "cyan" },
  ready: { label: "Ready", color: "teal" },
  refused: { label: "Refused", color: "red" },
};

export function VersionStateBadge({ state }: { state: VersionState }) {
  const { label, color } = LOOKS[state];
  return <Badge color={color}>{label}</Badge>;
}
