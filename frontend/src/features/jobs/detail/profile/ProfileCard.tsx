// What the job measured of itself: where a step's time goes, how stale gradients were, and what it needs.
import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Job, Speed } from "@/api/types";
import { type Fact, Facts } from "@/components/display/Facts";
import { SectionCard } from "@/components/layout/Section";
import { speedQuery } from "@/features/jobs/queries";
import { bytes, count, number, percent } from "@/lib/quantities";

import { type Bar, barsOf, explanationsOf, meanStaleness, partsOf } from "./profile";

import classes from "./ProfileCard.module.css";

export function ProfileCard({ job }: { job: Job }) {
  const { data } = useQuery(speedQuery(job));
  const newest = data?.samples.at(-1);
  if (newest === undefined) return null;
  return (
    <SectionCard title="What it measured">
      <Stack gap="md">
        <StepTime speed={newest} />
        <Facts facts={factsOf(newest)} />
        <Staleness speed={newest} />
        <Explained speed={newest} />
      </Stack>
    </SectionCard>
  );
}

function StepTime({ speed }: { speed: Speed }) {
  const parts = partsOf(speed);
  return (
    <div>
      <Text size="sm" mb={6}>
        A step takes {milliseconds(speed.step_s)}
      </Text>
      <div className={classes.parts} aria-hidden="true">
        {parts.map(({ name, share }) => (
          <span key={name} data-part={name} style={{ flexGrow: share }} />
        ))}
      </div>
      <Group component="ul" gap="4px 16px" className={classes.list} mt={6}>
        {parts.map(({ name, label, share, seconds }) => (
          <Text key={name} component="li" size="xs" c="dimmed">
            <span className={classes.swatch} data-part={name} />
            {label} {milliseconds(seconds)} · {percent(share)}
          </Text>
        ))}
      </Group>
    </div>
  );
}

function factsOf(speed: Speed): Fact[] {
  const facts: Fact[] = [];
  if (speed.noise_scale !== null) facts.push(["Gradient noise scale", `${number(rounded(speed.noise_scale))} examples`]);
  if (speed.gpu_utilisation !== null) facts.push(["GPU in use", percent(speed.gpu_utilisation)]);
  if (speed.gpu_memory_bytes !== null) facts.push(["GPU memory", bytes(speed.gpu_memory_bytes)]);
  if (speed.peak_memory_bytes > 0) facts.push(["Memory at most", bytes(speed.peak_memory_bytes)]);
  if (speed.bytes_sent > 0) facts.push(["Sent a step", bytes(speed.bytes_sent)]);
  if (speed.bytes_received > 0) facts.push(["Received a step", bytes(speed.bytes_received)]);
  return facts;
}

/** The words that are shown above, in one sentence each. */
function Explained({ speed }: { speed: Speed }) {
  return (
    <details className={classes.explained}>
      <summary>What these words mean</summary>
      <dl>
        {explanationsOf(speed).map(([word, about]) => (
          <div key={word}>
            <Text component="dt" size="xs" fw={600}>
              {word}
            </Text>
            <Text component="dd" size="xs" c="dimmed" m={0}>
              {about}
            </Text>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Staleness({ speed }: { speed: Speed }) {
  const bars = barsOf(speed.staleness);
  if (bars.length < 2) return null;
  const told = bars.map(({ label, share }) => `${label}: ${percent(share)}`).join(", ");
  const discarded = speed.n_discarded > 0 ? ` · ${count(speed.n_discarded, "gradient")} came too late` : "";
  return (
    <div>
      <Text size="sm" mb={6}>
        Staleness of gradients, in versions{" "}
        <Text span size="xs" c="dimmed">
          {number(rounded(meanStaleness(speed.staleness)))} on average{discarded}
        </Text>
      </Text>
      <div className={classes.histogram} role="img" aria-label={`Staleness ${told}`}>
        {bars.map((bar) => (
          <Column key={bar.label} bar={bar} highest={Math.max(...bars.map(({ share }) => share))} />
        ))}
      </div>
    </div>
  );
}

function Column({ bar, highest }: { bar: Bar; highest: number }) {
  return (
    <div className={classes.column}>
      <Text size="xs" c="dimmed" className={classes.share}>
        {bar.share < 0.005 ? "" : percent(bar.share)}
      </Text>
      <span style={{ height: `${Math.max(1, (48 * bar.share) / highest)}px` }} />
      <Text size="xs">{bar.label}</Text>
    </div>
  );
}

function rounded(x: number): number {
  return Number(x.toPrecision(2));
}

function milliseconds(seconds: number): string {
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${number(Number(value.toPrecision(value < 1 ? 1 : 3)))} ${unit}`;
}
