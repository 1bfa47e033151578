// SPDX-License-Identifier: Apache-2.0
// Smoothing and scale of all charts of a page.
import { t } from "@lingui/core/macro";
import { Group, NativeSelect, Switch } from "@mantine/core";

import type { ChartSettings } from "@/components/chart/metric/useChartSettings";

const SMOOTHINGS = [
  { value: "0", label: t`None` },
  { value: "0.6", label: t`Light` },
  { value: "0.9", label: t`Medium` },
  { value: "0.98", label: t`Strong` },
];

interface Props {
  settings: ChartSettings;
  onChange: (change: Partial<ChartSettings>) => void;
}

export function ChartSettingsFields({ settings, onChange }: Props) {
  return (
    <Group gap="md">
      <NativeSelect
        size="xs"
        label={t`Smoothing`}
        value={String(settings.smoothing)}
        onChange={(event) => onChange({ smoothing: Number(event.currentTarget.value) })}
        data={SMOOTHINGS}
      />
      <Switch
        size="xs"
        mt="lg"
        label={t`Logarithmic scale`}
        checked={settings.isLog}
        onChange={(event) => onChange({ isLog: event.currentTarget.checked })}
      />
    </Group>
  );
}
