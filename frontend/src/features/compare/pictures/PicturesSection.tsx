// SPDX-License-Identifier: Apache-2.0
// Settings against results: what matters, parallel coordinates of those that are chosen, and a scatter plot of two.
import { t } from "@lingui/core/macro";
import { Group, MultiSelect, NativeSelect, Switch, Text, useComputedColorScheme } from "@mantine/core";
import { memo, useMemo, useRef } from "react";

import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { ParallelCoordinates } from "@/components/chart/parallel/ParallelCoordinates";
import { keptBy } from "@/components/chart/parallel/ranges";
import { ScatterPlot } from "@/components/chart/ScatterPlot";
import { colourOf } from "@/components/chart/colours";
import { OneByOne } from "@/components/layout/OneByOne";
import { Section } from "@/components/layout/Section";
import { csvOf } from "@/lib/download";

import { ImportanceSection } from "./ImportanceSection";
import { type Column, type Compared, columnsOf, valuesOf } from "../settings";
import { useRanges } from "@/components/chart/address/useRanges";
import { useScales } from "./useScales";
import { listOf, textOfList, useSetting } from "@/components/chart/address/useSetting";

const MOST_AXES = 16;
const USUAL_SETTINGS = 7;
const USUAL_RESULTS = 3;
/** Else the list is laid out, and measured, while it is closed: most of what made this part of the page a long task. */
const LIST_WHEN_OPEN = { keepMounted: false };

interface Props {
  compared: readonly Compared[];
  /** The id of the row that others are compared with. */
  baseline: string;
}

export const PicturesSection = memo(function PicturesSection({ compared, baseline }: Props) {
  const rows = useMemo(() => compared.map(valuesOf), [compared]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const results = useMemo(() => new Set(compared.flatMap((row) => [...row.results.keys()])), [compared]);
  const numbers = useMemo(() => columns.filter(({ options }) => options === undefined), [columns]);
  const [first] = numbers;
  if (first === undefined || columns.length < 2) {
    return (
      <Section title={t`Settings and results`}>
        <Text size="sm" c="dimmed">
          {t`These jobs differ in fewer than two numbers.`}
        </Text>
      </Section>
    );
  }
  return (
    <OneByOne>
      <ImportanceSection compared={compared} results={numbers.flatMap(({ name }) => (results.has(name) ? [name] : []))} />
      <Section title={t`Settings and results`}>
        <Pictures compared={compared} baseline={baseline} columns={columns} numbers={numbers} first={first} results={results} />
      </Section>
    </OneByOne>
  );
});

interface PicturesProps extends Props {
  /** In which they differ. */
  columns: readonly Column[];
  /** Of these the numbers, at least one. */
  numbers: readonly Column[];
  first: Column;
  /** The names of results. */
  results: ReadonlySet<string>;
}

/** What is drawn of a thousand rows is worked out again only when it changes. */
function Pictures({ compared, baseline, columns, numbers, first, results }: PicturesProps) {
  const scheme = useComputedColorScheme("light");
  const [chosenX, setX] = useSetting("x", "");
  const [chosenY, setY] = useSetting("y", "");
  const [axesText, setAxes] = useSetting("axes", "");
  const [ranges, setRanges] = useRanges();
  const { scaleFor, allowsLog, choose } = useScales();
  const parallel = useRef<SVGSVGElement>(null);
  const scatter = useRef<SVGSVGElement>(null);
  const drawn = useMemo(() => {
    const chosen = listOf(axesText).flatMap((name) => columns.find((column) => column.name === name) ?? []);
    return chosen.length > 0 ? chosen.slice(0, MOST_AXES) : usualAxes(columns, results);
  }, [axesText, columns, results]);
  const axes = useMemo(() => drawn.map((column) => ({ ...column, scale: scaleFor(column), allowsLog: allowsLog(column) })), [drawn, scaleFor, allowsLog]);
  const lines = useMemo(
    () =>
      compared.map(({ id, name: label }, index) => {
        const values = drawn.map((column) => column.values[index] ?? null);
        return { id, label, colour: colourOf(index, scheme), isEmphasised: id === baseline, values };
      }),
    [compared, drawn, scheme, baseline],
  );
  const kept = useMemo(() => keptBy(axes, lines, ranges), [axes, lines, ranges]);
  const named = (name: string, usual: Column) => numbers.find((column) => column.name === name) ?? usual;
  const xColumn = named(chosenX, first);
  const others = numbers.filter(({ name }) => name !== xColumn.name); // against itself a column tells nothing
  const yColumn = named(chosenY, others.find(({ name }) => results.has(name)) ?? others[0] ?? first);
  const xScale = useMemo(() => scaleFor(xColumn), [scaleFor, xColumn]);
  const yScale = useMemo(() => scaleFor(yColumn), [scaleFor, yColumn]);
  const points = useMemo(
    () =>
      lines.flatMap((line, index) => {
        const [x, y] = [xColumn.values[index] ?? null, yColumn.values[index] ?? null];
        return x === null || y === null || !kept.has(line.id) ? [] : [{ ...line, x, y }];
      }),
    [lines, kept, xColumn, yColumn],
  );
  const names = numbers.map(({ name }) => name);
  return (
    <OneByOne>
      <Group gap="sm" align="end">
        <MultiSelect
          size="xs"
          miw={240}
          maw="100%"
          label={t`Axes`}
          searchable
          clearable
          maxValues={MOST_AXES}
          value={drawn.map(({ name }) => name)}
          onChange={(list) => setAxes(textOfList(list))}
          comboboxProps={LIST_WHEN_OPEN}
          data={columns.map(({ name }) => name)}
          nothingFoundMessage={t`No such setting or result in which they differ`}
        />
        <FigureMenu name={t`Parallel coordinates`} of={parallel} csv={() => csvOfLines(axes, lines)} />
      </Group>
      <ParallelCoordinates
        axes={axes}
        lines={lines}
        label={t`${lines.length} lines over ${axes.map(({ name }) => name).join(", ")}`}
        ranges={ranges}
        onRanges={setRanges}
        onScale={(name, isLog) => {
          const column = columns.find((each) => each.name === name);
          if (column !== undefined) choose(column, isLog);
        }}
        drawing={parallel}
      />
      <Group gap="sm" align="end">
        <NativeSelect size="xs" label={t`Across`} value={xColumn.name} onChange={(event) => setX(event.currentTarget.value)} data={names} />
        <LogSwitch label={t`Logarithmic across`} column={xColumn} isLog={xScale.isLog} isAllowed={allowsLog(xColumn)} onChange={choose} />
        <NativeSelect size="xs" label={t`Up`} value={yColumn.name} onChange={(event) => setY(event.currentTarget.value)} data={names} />
        <LogSwitch label={t`Logarithmic up`} column={yColumn} isLog={yScale.isLog} isAllowed={allowsLog(yColumn)} onChange={choose} />
        <FigureMenu name={t`Scatter plot`} of={scatter} csv={() => csvOfPoints(xColumn.name, yColumn.name, points)} />
      </Group>
      <ScatterPlot xLabel={xColumn.name} yLabel={yColumn.name} xScale={xScale} yScale={yScale} drawing={scatter} points={points} />
    </OneByOne>
  );
}

/** A row a line, a column an axis. */
function csvOfLines(axes: readonly Column[], lines: readonly { label: string; values: readonly (number | null)[] }[]): string {
  const shown = ({ options }: Column, value: number | null) => (value === null ? null : (options?.[value] ?? value));
  return csvOf([
    ["name", ...axes.map(({ name }) => name)],
    ...lines.map(({ label, values }) => [label, ...axes.map((axis, index) => shown(axis, values[index] ?? null))]),
  ]);
}

function csvOfPoints(x: string, y: string, points: readonly { label: string; x: number; y: number }[]): string {
  return csvOf([["name", x, y], ...points.map((point) => [point.label, point.x, point.y])]);
}

/** Settings, then results: these are what the lines are read towards. */
function usualAxes(columns: readonly Column[], results: ReadonlySet<string>): Column[] {
  const settings = columns.filter(({ name }) => !results.has(name)).slice(0, USUAL_SETTINGS);
  return [...settings, ...columns.filter(({ name }) => results.has(name)).slice(0, USUAL_RESULTS)];
}

interface LogSwitchProps {
  label: string;
  column: Column;
  isLog: boolean;
  isAllowed: boolean;
  onChange: (column: Column, isLog: boolean) => void;
}

function LogSwitch({ label, column, isLog, isAllowed, onChange }: LogSwitchProps) {
  return <Switch size="xs" mb={6} label={label} checked={isLog} disabled={!isAllowed} onChange={(event) => onChange(column, event.currentTarget.checked)} />;
}
