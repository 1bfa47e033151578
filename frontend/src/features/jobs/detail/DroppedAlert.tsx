// SPDX-License-Identifier: Apache-2.0
// What a job reported beyond its limits: it was dropped, and the page says how much.
import { t } from "@lingui/core/macro";
import { Alert, Text } from "@mantine/core";

import type { JobDetail } from "@/api/types";
import { Icon } from "@/components/display/Icon";

interface Props {
  dropped: JobDetail["dropped"];
  part: JobDetail["dropped"][number]["part"];
}

export function DroppedAlert({ dropped, part }: Props) {
  const own = dropped.filter((found) => found.part === part);
  if (own.length === 0) return null;
  const title = part === "log" ? t`Lines are missing` : t`Points are missing`;
  return (
    <Alert color="yellow" role="status" aria-label={title} icon={<Icon name="alert" />} title={title} mb="xs">
      {own.map(({ limit, sentence }) => (
        <Text key={limit} size="sm">
          {sentence}
        </Text>
      ))}
    </Alert>
  );
}
