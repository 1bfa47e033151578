// SPDX-License-Identifier: Apache-2.0
// Settings against results: a scatter plot of two of them, and parallel coordinates of all that are numbers.
import { t } from "@lingui/core/macro";
import { Group, NativeSelect, Text, useComputedColorScheme } from "@mantine/core";
import { useMemo, useState } from "react";

import { ParallelCoordinates } from "@/components/ParallelCoordinates";
import { colourOf } from "@/components/chart/colours";
import { ScatterPlot } from "@/components/chart/ScatterPlot";
import { Section } from "@/components/layout/Section";

import { type Compared, numericNames, valuesOf } from "./settings";
import { useSetting } from "./useSetting";

const MOST_AXES = 10;

export function PicturesSection({ compared }: { compared: readonly Compared[] }) {
  const scheme = useComputedColorScheme("light");
  const [kept, setKept] = useState<ReadonlySet<string> | null>(null);
  const rows = useMemo(() => compared.map(valuesOf), [compared]);
  const names = useMemo(() => numericNames(rows), [rows]);
  const [chosenX, setX] = useSetting("x", "");
  const [chosenY, setY] = useSetting("y", "");
  if (names.length < 2) {
    return (
      <Section title={t`Settings and results`}>
        <Text size="sm" c="dimmed">
          {t`These jobs differ in fewer than two numbers.`}
        </Text>
      </Section>
    );
  }
  const valueOf = (index: number, name: string) => {
    const value = rows[index]?.get(name) ?? null;
    return typeof value === "number" ? value : null;
  };
  const xName = names.includes(chosenX) ? chosenX : (names[0] ?? "");
  const yName = names.includes(chosenY) ? chosenY : (names.find((name) => name.includes("/")) ?? names[1] ?? "");
  const axes = names.slice(0, MOST_AXES).map((name) => ({ name, label: name }));
  const lines = compared.map(({ id, name: label }, index) => ({
    id,
    label,
    colour: colourOf(index, scheme),
    values: axes.map(({ name }) => valueOf(index, name)),
  }));
  return (
    <Section title={t`Settings and results`}>
      <Group gap="sm" align="end">
        <NativeSelect size="xs" label={t`Across`} value={xName} onChange={(event) => setX(event.currentTarget.value)} data={names} />
        <NativeSelect size="xs" label={t`Up`} value={yName} onChange={(event) => setY(event.currentTarget.value)} data={names} />
      </Group>
      <ScatterPlot
        xLabel={xName}
        yLabel={yName}
        points={lines
          .filter(({ id }) => kept === null || kept.has(id))
          .flatMap(({ id, label, colour }) => {
            const index = compared.findIndex((row) => row.id === id);
            const [x, y] = [valueOf(index, xName), valueOf(index, yName)];
            return x === null || y === null ? [] : [{ id, label, colour, x, y }];
          })}
      />
      <ParallelCoordinates axes={axes} lines={lines} onKept={setKept} />
      {names.length > MOST_AXES && (
        <Text size="xs" c="dimmed">
          {t`The first ${MOST_AXES} of ${names.length} numbers in which they differ.`}
        </Text>
      )}
    </Section>
  );
}
