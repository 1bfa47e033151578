// SPDX-License-Identifier: Apache-2.0
// Says which part of the x axis charts show, and leaves it: for who did not drag, or came by a link.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";

import type { AxisUnit } from "../axisUnits";
import type { AxisZoom } from "./dragZoom";

interface Props {
  zoom: AxisZoom | null;
  unit: AxisUnit;
  onZoom: (zoom: null) => void;
}

export function ShowAll({ zoom, unit, onZoom }: Props) {
  if (zoom === null) return null;
  return (
    <Button size="compact-xs" variant="light" onClick={() => onZoom(null)}>
      {t`${unit.text(zoom.low)} to ${unit.text(zoom.high)}: show all`}
    </Button>
  );
}
