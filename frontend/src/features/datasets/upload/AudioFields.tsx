// SPDX-License-Identifier: Apache-2.0
// To which sample rate and length clips of audio are brought. Loaded when audio is chosen.
import { t } from "@lingui/core/macro";
import { NumberInput, SimpleGrid } from "@mantine/core";

import type { Sending } from "@/components/form/upload/UploadForm";

interface Props extends Sending {
  sampleRate: number | string;
  clipS: number | string;
  onChange: (part: { sampleRate?: number | string; clipS?: number | string }) => void;
}

export function AudioFields({ sampleRate, clipS, onChange, isDisabled, problem }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberInput
        label={t`Sample rate`}
        description={t`Hertz, 1,000 to 48,000, to which all clips are converted`}
        placeholder={t`That of most clips, at most 16,000`}
        min={1000}
        max={48_000}
        allowDecimal={false}
        value={sampleRate}
        disabled={isDisabled}
        onChange={(value) => onChange({ sampleRate: value })}
        error={problem?.of("sample_rate")}
      />
      <NumberInput
        label={t`Length of an example`}
        description={t`Seconds, 0.05 to 60; longer clips are cut, shorter ones padded`}
        placeholder={t`The longest clip, at most 10`}
        min={0.05}
        max={60}
        value={clipS}
        disabled={isDisabled}
        onChange={(value) => onChange({ clipS: value })}
        error={problem?.of("clip_s")}
      />
    </SimpleGrid>
  );
}
