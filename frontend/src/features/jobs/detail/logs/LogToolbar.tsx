// SPDX-License-Identifier: Apache-2.0
// What of a log is shown: of which pod, with which text, from when on; and the whole of it as a file.
import { plural, t } from "@lingui/core/macro";
import { Button, Checkbox, Group, NativeSelect, Switch, Text, TextInput } from "@mantine/core";

import type { ReactNode } from "react";

import type { Attempt } from "@/api/types";

export interface LogSettings {
  /** "worker 0"; "" means all pods. */
  pod: string;
  search: string;
  isRegex: boolean;
  /** Local time of the browser, as its input has it; "" means the newest lines. */
  from: string;
}

interface Props {
  id: string;
  attempts: readonly Attempt[];
  asked: LogSettings;
  onChange: (change: Partial<LogSettings>) => void;
  follows: boolean;
  onFollow: (follows: boolean) => void;
  nFound: number | null;
  error?: string;
  /** Before the buttons at the right. */
  jumps: ReactNode;
}

const MAX_PODS = 200; // of a menu; more are found by search

export function LogToolbar({ id, attempts, asked, onChange, follows, onFollow, nFound, error, jumps }: Props) {
  return (
    <Group gap="sm" mb="xs" align="flex-start">
      <NativeSelect
        size="xs"
        aria-label={t`Pod`}
        value={asked.pod}
        onChange={(event) => onChange({ pod: event.currentTarget.value })}
        data={[{ value: "", label: t`All pods` }, ...podsOf(attempts)]}
      />
      <TextInput
        size="xs"
        w={240}
        type="search"
        aria-label={t`Search the log`}
        placeholder={t`Search the log`}
        value={asked.search}
        error={error}
        onChange={(event) => onChange({ search: event.currentTarget.value })}
      />
      <Checkbox
        size="xs"
        mt={6}
        label={t`Regex`}
        checked={asked.isRegex}
        onChange={(event) => onChange({ isRegex: event.currentTarget.checked })}
      />
      {nFound !== null && (
        <Text size="xs" mt={6} c="dimmed" role="status">
          {t`${plural(nFound, { one: "# line", other: "# lines" })} found`}
        </Text>
      )}
      <TextInput
        size="xs"
        type="datetime-local"
        aria-label={t`Show from`}
        value={asked.from}
        onChange={(event) => onChange({ from: event.currentTarget.value })}
      />
      {jumps}
      <Group gap="sm" ml="auto">
        <Button size="compact-xs" variant="default" component="a" href={`/api/v1/jobs/${id}/logs/download`} download>
          {t`Download log`}
        </Button>
        <Switch
          size="sm"
          label={t`Follow`}
          checked={follows}
          onChange={(event) => onFollow(event.currentTarget.checked)}
        />
      </Group>
    </Group>
  );
}

/** Every pod that an attempt had, by role and number. */
function podsOf(attempts: readonly Attempt[]): string[] {
  const most = (of: (attempt: Attempt) => number) => attempts.reduce((n, attempt) => Math.max(n, of(attempt)), 0);
  const named = (role: string, n: number) => Array.from({ length: n }, (_, index) => `${role} ${index}`);
  const pods = [...named("worker", most((one) => one.n_workers)), ...named("server", most((one) => one.n_servers))];
  return pods.slice(0, MAX_PODS);
}
