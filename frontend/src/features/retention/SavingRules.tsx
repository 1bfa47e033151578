// SPDX-License-Identifier: Apache-2.0
// Below rules of retention: what was refused, both versions of two edits, the look at the effect and the saving.
import { t } from "@lingui/core/macro";
import { Button, Group } from "@mantine/core";

import { Problem } from "@/api/client";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { StaleVersion } from "@/components/feedback/StaleVersion";

interface Request {
  error: Error | null;
  isPending: boolean;
}

interface Props {
  save: Request & { mutate: (version: number) => void };
  preview: Request & { mutate: () => void };
  mayEdit: boolean;
  isUnchanged: boolean;
  /** Of the fields of which two edits differ, and of their values. */
  labels: Record<string, string>;
  textOf: (value: unknown) => string;
  onTheirs: () => void;
}

export function SavingRules({ save, preview, mayEdit, isUnchanged, labels, textOf, onTheirs }: Props) {
  const isStale = save.error instanceof Problem && save.error.status === 409;
  return (
    <>
      <StaleVersion error={save.error} labels={labels} textOf={textOf} onTheirs={onTheirs} onMine={(version) => save.mutate(version)} />
      {!isStale && <ProblemAlert error={save.error ?? preview.error} />}
      {mayEdit && (
        <Group justify="flex-end" gap="xs" mt="sm">
          <Button variant="default" loading={preview.isPending} disabled={isUnchanged} onClick={() => preview.mutate()}>
            {t`What would be removed?`}
          </Button>
          <Button type="submit" loading={save.isPending} disabled={isUnchanged}>
            {t`Save`}
          </Button>
        </Group>
      )}
    </>
  );
}
