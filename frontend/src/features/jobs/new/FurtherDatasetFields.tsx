// SPDX-License-Identifier: Apache-2.0
// Datasets that a script reads besides its own, each under the name of its folder.
import { t } from "@lingui/core/macro";
import { Button, Group, Input, Stack, TextInput } from "@mantine/core";

import { modelChoices, useChosen } from "@/api/choices";
import { DatasetSelect } from "@/components/form/choice/DatasetSelect";
import { isReady, isScript } from "@/features/jobs/queries";

import type { Draft, FurtherDataset } from "./draft";

interface FurtherDatasetFieldsProps {
  draft: Draft;
  error: string | undefined;
  onChange: (part: Pick<Draft, "datasets">) => void;
}

export function FurtherDatasetFields({ draft, error, onChange }: FurtherDatasetFieldsProps) {
  const model = useChosen(modelChoices, draft.model);
  const rows = draft.datasets;
  if (rows.length === 0 && !(model && isScript(model))) return null;

  const setRow = (index: number, part: Partial<FurtherDataset>) =>
    onChange({ datasets: rows.map((row, at) => (at === index ? { ...row, ...part } : row)) });

  return (
    <Input.Wrapper
      label={t`Further datasets`}
      description={t`The script finds each as a folder: words is at MLHUB_DATASET_WORDS`}
      error={error}
    >
      <Stack gap="xs" mt={4}>
        {rows.map((row, index) => (
          <Group key={index} gap="xs" align="start">
            <TextInput
              aria-label={t`Name of further dataset ${index + 1}`}
              placeholder={t`words`}
              flex="1 1 120px"
              value={row.name}
              onChange={(event) => setRow(index, { name: event.currentTarget.value })}
            />
            <DatasetSelect
              aria-label={t`Further dataset ${index + 1}`}
              placeholder={t`Choose a dataset`}
              flex="2 1 180px"
              isOffered={isReady}
              value={row.dataset}
              onChange={(dataset) => setRow(index, { dataset })}
            />
            <Button
              variant="default"
              aria-label={t`Remove further dataset ${index + 1}`}
              onClick={() => onChange({ datasets: rows.filter((_, at) => at !== index) })}
            >
              {t`Remove`}
            </Button>
          </Group>
        ))}
        <div>
          <Button
            variant="default"
            size="xs"
            onClick={() => onChange({ datasets: [...rows, { name: "", dataset: "" }] })}
          >
            {t`Add a dataset`}
          </Button>
        </div>
      </Stack>
    </Input.Wrapper>
  );
}
