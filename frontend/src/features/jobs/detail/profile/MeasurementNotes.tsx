// SPDX-License-Identifier: Apache-2.0
// How much other jobs slowed this one, and which of its measurements could not be true.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Stack, Text } from "@mantine/core";

import type { Speeds } from "@/api/types";
import { evidence, SHARED_RESOURCES, slowdownText } from "@/domain/scheduling/sharedResource";
import { number } from "@/lib/quantities";

export function Slowdowns({ rows }: { rows: Speeds["slowdowns"] }) {
  const known = rows.filter(({ slowdown }) => slowdown !== null);
  if (known.length === 0) return null;
  return (
    <Stack component="ul" gap={4} m={0} pl="md" aria-label={t`With other jobs`}>
      {known.map((row) => (
        <Text component="li" size="sm" key={`${row.attempt_number} ${row.other} ${row.resource} ${row.at}`}>
          <Trans>
            With {row.other || t`a job of another organisation`} on {SHARED_RESOURCES[row.resource]} a step of attempt{" "}
            {row.attempt_number} took {slowdownText(row.slowdown ?? 1, row.error)}, {evidence(row.n_steps, 1)}.
          </Trans>
        </Text>
      ))}
    </Stack>
  );
}

export function RefusedMeasurements({ rows }: { rows: Speeds["refused"] }) {
  if (rows.length === 0) return null;
  return (
    <Alert color="orange" mb="sm" title={t`Measurements that were refused`}>
      {rows.map((row) => (
        <Text size="sm" key={`${row.attempt_number} ${row.field}`}>
          <Trans>
            Attempt {row.attempt_number} reported {row.field} {number(row.value)} ({plural(row.n, { one: "# time", other: "# times" })}). {row.reason} Nothing
            is decided from it.
          </Trans>
        </Text>
      ))}
    </Alert>
  );
}
