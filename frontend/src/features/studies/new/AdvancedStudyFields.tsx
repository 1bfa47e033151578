// SPDX-License-Identifier: Apache-2.0
// What few people change of a new study; it opens where something in it was refused.
import { t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Stack, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";

import type { StudyFields } from "./useNewStudy";

interface Props extends StudyFields {
  isBegunOpen: boolean;
  settingsError: string | undefined;
}

export function AdvancedStudyFields({ draft, isScript, isBegunOpen, errorAt, settingsError, onChange }: Props) {
  const [isOpen, { toggle }] = useDisclosure(isBegunOpen);
  const errors = { eta: errorAt("eta"), first: errorAt("min_epochs", "min_steps"), seed: errorAt("seed"), epochs: errorAt("max_epochs") };
  const isShown = isOpen || settingsError !== undefined || Object.values(errors).some((error) => error !== undefined);
  return (
    <div>
      <Button variant="default" size="xs" onClick={toggle} aria-expanded={isShown}>
        {isShown ? t`Hide advanced settings` : t`Advanced settings`}
      </Button>
      {isShown && (
        <Stack mt="sm">
          <Group grow align="flex-start" preventGrowOverflow={false}>
            {draft.algorithm === "asha" && (
              <>
                <NumberInput
                  label={t`First rung`}
                  miw={150}
                  placeholder={t`chosen by MLHub`}
                  min={1}
                  allowDecimal={false}
                  value={draft.first_rung}
                  error={errors.first}
                  onChange={(first_rung) => onChange({ first_rung })}
                />
                <NumberInput
                  label={t`Trained on: 1 of`}
                  miw={150}
                  min={2}
                  max={10}
                  allowDecimal={false}
                  required
                  value={draft.eta}
                  error={errors.eta}
                  onChange={(eta) => onChange({ eta })}
                />
              </>
            )}
            <NumberInput
              label={t`Seed of the search`}
              miw={150}
              min={0}
              allowDecimal={false}
              required
              value={draft.seed}
              error={errors.seed}
              onChange={(seed) => onChange({ seed })}
            />
            {!isScript && (
              <NumberInput
                label={t`Epochs of all trials at most`}
                miw={150}
                placeholder={t`no limit`}
                min={1}
                allowDecimal={false}
                value={draft.max_epochs}
                error={errors.epochs}
                onChange={(max_epochs) => onChange({ max_epochs })}
              />
            )}
          </Group>
          <Textarea
            label={t`Further settings of the jobs (JSON)`}
            description={t`As a job takes them: batch_size, hyperparameters, strategy, resources, limits, environment, secrets.`}
            placeholder={'{"batch_size": 64}'}
            rows={6}
            resize="vertical"
            spellCheck={false}
            styles={{ input: { fontFamily: "monospace" } }}
            value={draft.settings}
            error={settingsError}
            onChange={(event) => onChange({ settings: event.currentTarget.value })}
          />
        </Stack>
      )}
    </div>
  );
}
