// SPDX-License-Identifier: Apache-2.0
// Chooses all checkpoints that may be deleted, or those of a range of steps.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Text } from "@mantine/core";
import { useState } from "react";

import type { Checkpoint } from "@/api/types";

import { MOST_AT_ONCE, withinSteps } from "./choice";

interface Props {
  deletable: readonly Checkpoint[];
  chosen: ReadonlySet<number>;
  onChoose: (ids: ReadonlySet<number>) => void;
}

export function Choosing({ deletable, chosen, onChoose }: Props) {
  const [from, setFrom] = useState<number | string>("");
  const [to, setTo] = useState<number | string>("");
  const isRange = from !== "" && to !== "";
  const within = isRange ? withinSteps(deletable, Number(from), Number(to)) : [];
  return (
    <Group gap="xs" align="end" mb="xs">
      <Button size="xs" variant="default" onClick={() => onChoose(new Set(deletable.slice(0, MOST_AT_ONCE).map(({ id }) => id)))}>
        {t`Choose all ${Math.min(deletable.length, MOST_AT_ONCE)} that may be deleted`}
      </Button>
      <NumberInput size="xs" w={110} label={t`From step`} min={0} allowDecimal={false} hideControls value={from} onChange={setFrom} />
      <NumberInput size="xs" w={110} label={t`To step`} min={0} allowDecimal={false} hideControls value={to} onChange={setTo} />
      <Button size="xs" variant="default" disabled={within.length === 0} onClick={() => onChoose(new Set([...chosen, ...within].slice(0, MOST_AT_ONCE)))}>
        {isRange ? plural(within.length, { one: "Choose # of the range", other: "Choose # of the range" }) : t`Choose the range`}
      </Button>
      {chosen.size > 0 && (
        <Button size="xs" variant="subtle" onClick={() => onChoose(new Set())}>
          {t`Choose none`}
        </Button>
      )}
      <Text size="xs" c="dimmed">{t`Or hold Shift at the second of two checkboxes.`}</Text>
    </Group>
  );
}
