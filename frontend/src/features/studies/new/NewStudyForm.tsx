// SPDX-License-Identifier: Apache-2.0
// The form of a new study: what to train, the values to try as YAML, the metric, and how far to go.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Paper, Stack, Text } from "@mantine/core";

import type { Study } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import type { Draft } from "@/features/studies/draft";

import { AdvancedStudyFields } from "./AdvancedStudyFields";
import { LimitFields, SearchFields } from "./SearchFields";
import { TrainingFields } from "./TrainingFields";
import { useNewStudy } from "./useNewStudy";

export function NewStudyForm({ begun, clone }: { begun: Draft; clone: Study | undefined }) {
  const { fields, submit, error, atFields, isNoObject, settingsError, isPending } = useNewStudy(begun, clone);
  return (
    <Paper withBorder p="md" component="form" aria-label={t`New study`} onSubmit={submit}>
      <Stack>
        {clone && <CloneNote clone={clone} />}
        <ProblemAlert error={error} atFields={atFields} />
        <TrainingFields {...fields} />
        <SearchFields {...fields} />
        <LimitFields {...fields} />
        <AdvancedStudyFields
          {...fields}
          isBegunOpen={clone !== undefined}
          settingsError={isNoObject ? t`This is no JSON object, such as {"batch_size": 64}.` : settingsError}
        />
        <Text size="sm" c="dimmed">
          {t`Trials have priority -50: other jobs go first, and trials are preempted first.`}
        </Text>
        <Group justify="flex-end">
          <Button type="submit" loading={isPending} disabled={isNoObject}>
            {t`Create study`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function CloneNote({ clone }: { clone: Study }) {
  return (
    <Alert color="blue" role="note">
      {clone.model_version === null || (clone.has_dataset && clone.dataset_version === null)
        ? t`With the settings of ${clone.name}; its dataset or its model was deleted: choose another one.`
        : t`A clone of ${clone.name}, with the same versions of data and model: change what shall be different.`}
    </Alert>
  );
}
