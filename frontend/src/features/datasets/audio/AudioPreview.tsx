// SPDX-License-Identifier: Apache-2.0
// Some clips of a dataset of audio: what their waveforms look like, and players to listen to them. Loaded on demand.
import { t } from "@lingui/core/macro";
import { Badge, Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";

import { duration, hertz } from "@/features/datasets/audio/units";
import type { Clip } from "@/features/datasets/preview";

const WIDTH = 240;
const HEIGHT = 48;

interface Props {
  versionId: string;
  clips: Clip[];
}

export function AudioPreview({ versionId, clips }: Props) {
  return (
    <SimpleGrid component="ul" cols={{ base: 1, xs: 2, md: 3 }} spacing="sm" m={0} p={0} style={{ listStyle: "none" }}>
      {clips.map((clip, index) => (
        <Paper component="li" key={clip.name} withBorder p="sm">
          <Stack gap={6}>
            <Group justify="space-between" gap="xs" wrap="nowrap">
              <Text size="sm" truncate dir="auto" title={clip.name}>
                {fileOf(clip.name)}
              </Text>
              {clip.label && <Badge style={{ flexShrink: 0, maxWidth: "50%" }}>{clip.label}</Badge>}
            </Group>
            <Waveform clip={clip} />
            <Text size="xs" c="dimmed">
              {[duration(clip.duration_s), hertz(clip.sample_rate), channels(clip.channels)].join(" · ")}
            </Text>
            {clip.is_playable ? (
              <audio
                controls
                preload="none"
                src={`/api/v1/dataset-versions/${versionId}/clips/${String(index)}`}
                aria-label={t`Listen to ${fileOf(clip.name)}`}
                style={{ width: "100%", height: 36 }}
              />
            ) : (
              <Text size="xs" c="dimmed">{t`Too large to be played here.`}</Text>
            )}
          </Stack>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

/** Bars as high as each part of the clip is loud, on both sides of the middle. */
function Waveform({ clip: { name, waveform } }: { clip: Clip }) {
  const step = WIDTH / Math.max(1, waveform.length);
  return (
    <svg
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      width="100%"
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-label={t`Waveform of ${fileOf(name)}`}
    >
      {waveform.map((loudness, index) => {
        const height = Math.max(1, Math.min(1, loudness) * HEIGHT);
        return (
          <rect
            key={index}
            x={index * step}
            y={(HEIGHT - height) / 2}
            width={step * 0.7}
            height={height}
            fill="var(--mantine-primary-color-filled)"
          />
        );
      })}
    </svg>
  );
}

function fileOf(name: string): string {
  return name.split("/").at(-1) ?? name;
}

function channels(n: number): string {
  if (n === 1) return t`mono`;
  return n === 2 ? t`stereo` : t`${n} channels`;
}
