// SPDX-License-Identifier: Apache-2.0
// What the map's colours mean.
import { t } from "@lingui/core/macro";
import { Group, Text } from "@mantine/core";

import { UNNAMED, colourOf } from "@/components/chart/colours";
import { number } from "@/lib/quantities";

import classes from "./ClusterMap.module.css";
import { COLOURINGS, COOL_C, type Colouring, HOT_C, type Palette, shade, shareOf } from "./colours";
import type { MapRack } from "./model";

const MOST = 12; // names; more are read by pointing
const STEPS = [0, 0.25, 0.5, 0.75, 1];

const NO_USE = t`Nothing reports the use of these GPUs; nodes with NVIDIA's driver do.`;
const UNKNOWN: Partial<Record<Colouring, string>> = {
  use: NO_USE,
  memory: NO_USE,
  temperature: t`Nothing reports the temperature of these GPUs; nodes with NVIDIA's driver do.`,
  network: t`No gang has used a NIC enough to measure it.`,
  load: t`Not measured: no gang on several nodes has reported a step in the last ten minutes.`,
  interference: t`Not measured: no job has reported steps both with and without another one on its hardware.`,
};
const LOWEST: Partial<Record<Colouring, string>> = {
  temperature: t`Temperature of the GPU: ${COOL_C} °C or less`,
  network: t`NIC, measured share of what was declared: 0 %`,
  load: t`What gangs send over the NIC now, of its bandwidth: 0 %`,
  interference: t`How much longer a step takes because of other jobs on the same hardware: 0 %`,
};
const HIGHEST: Partial<Record<Colouring, string>> = {
  temperature: t`${HOT_C} °C or more`,
  interference: t`100 % or more`,
};

interface Props {
  palette: Palette;
  jobs: readonly { id: string; name: string }[];
  racks: readonly MapRack[];
}

export function MapLegend({ palette, jobs, racks }: Props) {
  const { colouring } = palette;
  if (colouring === "organisation" || colouring === "job") return <Names palette={palette} jobs={jobs} racks={racks} />;
  const isKnown = racks.some(({ nodes }) => nodes.some((node) => node.gpus.some((gpu) => shareOf(gpu, node, colouring) !== null)));
  if (!isKnown) {
    return (
      <Text size="xs" c="dimmed">
        {UNKNOWN[colouring]}
      </Text>
    );
  }
  return (
    <Group gap={4} aria-label={t`Legend`}>
      <Text size="xs">{LOWEST[colouring] ?? `${COLOURINGS[colouring]}: 0 %`}</Text>
      {STEPS.map((share) => (
        <span key={share} className={classes.swatch} style={{ background: shade(share) }} />
      ))}
      <Text size="xs">{HIGHEST[colouring] ?? "100 %"}</Text>
      <span className={classes.swatch} data-unknown style={{ marginInlineStart: 12 }} />
      <Text size="xs">{t`not measured`}</Text>
    </Group>
  );
}

function Names({ palette: { scheme, colouring, names }, jobs, racks }: Props) {
  const isNamed = ({ job, organisation }: { job: string | null; organisation: string | null }) =>
    (colouring === "job" ? job : organisation) !== null;
  const hasOthers = racks.some(({ nodes }) => nodes.some(({ gpus }) => gpus.some(({ holders }) => holders[0] && !isNamed(holders[0]))));
  const label = (name: string) => (colouring === "job" ? (jobs.find(({ id }) => id === name)?.name ?? name) : name);
  const shown: [string, string][] = names.slice(0, MOST).map((name, index) => [label(name), colourOf(index, scheme)]);
  if (hasOthers) shown.push([t`other organisations, or several short attempts`, UNNAMED[scheme]]);
  return (
    <Group component="ul" gap="md" p={0} m={0} style={{ listStyle: "none" }} aria-label={t`Legend`}>
      {shown.map(([name, colour]) => (
        <Group component="li" key={name} gap={6} wrap="nowrap">
          <span className={classes.swatch} style={{ background: colour }} />
          <Text size="xs">{name}</Text>
        </Group>
      ))}
      {names.length > MOST && (
        <Text component="li" size="xs" c="dimmed">
          {t`and ${number(names.length - MOST)} more`}
        </Text>
      )}
    </Group>
  );
}
