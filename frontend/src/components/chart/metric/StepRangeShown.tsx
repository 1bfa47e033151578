// SPDX-License-Identifier: Apache-2.0
// Says which steps the charts of a page show, and leaves them.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";

import type { StepRange } from "@/lib/curves/series";
import { number } from "@/lib/quantities";

interface Props {
  range: StepRange | null;
  onRange: (range: null) => void;
}

export function StepRangeShown({ range, onRange }: Props) {
  if (range === null) return null;
  return (
    <Button size="xs" variant="light" onClick={() => onRange(null)}>
      {t`Steps ${number(range.first)} to ${number(range.last)}: show all`}
    </Button>
  );
}
