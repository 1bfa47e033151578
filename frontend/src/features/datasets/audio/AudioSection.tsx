// SPDX-License-Identifier: Apache-2.0
// The clips of a dataset of audio in numbers: how long they are, their rates, and what becomes of them. Loaded on demand.
import { plural, t } from "@lingui/core/macro";
import { Alert, Paper, Stack, Text } from "@mantine/core";

import { type Fact, Facts } from "@/components/display/Facts";
import { Icon } from "@/components/display/Icon";
import { Section } from "@/components/layout/Section";
import type { AudioStatistics, Counted } from "@/features/datasets/audio/statistics";
import { duration, hertz } from "@/features/datasets/audio/units";
import { HistogramBars } from "@/features/datasets/columns/HistogramBars";
import { number } from "@/lib/quantities";

const WIDTH = 320;
const HEIGHT = 64;

interface Props {
  statistics: AudioStatistics;
  /** Seconds of an example; undefined while it is not known. */
  exampleS: number | undefined;
}

export function AudioSection({ statistics, exampleS }: Props) {
  return (
    <Section title={t`Clips`} order={3}>
      <Paper withBorder p="md">
        <Stack>
          <Facts facts={factsOf(statistics)} />
          {statistics.histogram && <Lengths histogram={statistics.histogram} />}
          <Notes statistics={statistics} exampleS={exampleS} />
        </Stack>
      </Paper>
      {statistics.nSilent > 0 && (
        <Alert color="yellow" icon={<Icon name="alert" />}>
          {plural(statistics.nSilent, { one: "# clip is silent.", other: "# clips are silent." })}
        </Alert>
      )}
    </Section>
  );
}

function factsOf({ totalS, minS, medianS, maxS, sampleRates, channels, formats }: AudioStatistics): Fact[] {
  return [
    [t`Length in all`, duration(totalS)],
    [t`Length of a clip`, minS === maxS ? duration(minS) : t`${duration(minS)} to ${duration(maxS)}, median ${duration(medianS)}`],
    [t`Sample rates`, shares(sampleRates, (value) => hertz(Number(value)))],
    [t`Channels`, shares(channels, String)],
    [t`File formats`, shares(formats, String)],
  ];
}

/** "44.1 kHz"; where there are several, each with how many clips have it. */
function shares(values: Counted[], shown: (value: string | number) => string): string {
  if (values.length === 1 && values[0]) return shown(values[0].value);
  return values.map(({ value, n }) => t`${shown(value)} (${number(n)})`).join(", ") || "–";
}

function Notes({ statistics: { nCut, nPadded }, exampleS }: Props) {
  if (exampleS === undefined || nCut + nPadded === 0) return null;
  const example = duration(exampleS);
  return (
    <Stack gap={2}>
      {nCut > 0 && (
        <Text size="sm">
          {plural(nCut, {
            one: `# clip is longer than an example, ${example}: models see its middle, or a random part with the augmentation crop.`,
            other: `# clips are longer than an example, ${example}: models see their middle, or a random part with the augmentation crop.`,
          })}
        </Text>
      )}
      {nPadded > 0 && (
        <Text size="sm">
          {plural(nPadded, {
            one: `# clip is shorter than an example, ${example}: silence follows it.`,
            other: `# clips are shorter than an example, ${example}: silence follows them.`,
          })}
        </Text>
      )}
    </Stack>
  );
}

function Lengths({ histogram: { edges, counts } }: { histogram: NonNullable<AudioStatistics["histogram"]> }) {
  const [from, to] = [duration(edges[0] ?? 0), duration(edges.at(-1) ?? 0)];
  const label = t`Histogram of the lengths of clips, from ${from} to ${to}`;
  return <HistogramBars counts={counts} from={from} to={to} label={label} width={WIDTH} height={HEIGHT} />;
}
