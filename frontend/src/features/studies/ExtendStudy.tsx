// SPDX-License-Identifier: Apache-2.0
// Adds to the budget of a study: more trials, and more of the limits that it has.
import { t } from "@lingui/core/macro";
import { Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { type SubmitEvent, useState } from "react";

import { Problem } from "@/api/client";
import type { Study, StudyAddition } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { useExtendStudy } from "@/features/studies/queries";
import { shown } from "@/features/studies/values";

export function ExtendStudy({ study }: { study: Study }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t`Add to the budget`}
      </Button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title={t`Add to the budget of ${study.name}`}>
        <ExtendForm study={study} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

const FIELDS = ["trials", "epochs", "gpu_hours"] as const;
type Typed = Record<(typeof FIELDS)[number], number | string>;

function ExtendForm({ study, onDone }: { study: Study; onDone: () => void }) {
  const [typed, setTyped] = useState<Typed>({ trials: "", epochs: "", gpu_hours: "" });
  const extend = useExtendStudy(study.id);
  const problem = extend.error instanceof Problem ? extend.error : undefined;
  const addition: StudyAddition = Object.fromEntries(FIELDS.filter((name) => typed[name] !== "").map((name) => [name, Number(typed[name])]));
  const limits = { trials: study.max_trials, epochs: study.max_epochs, gpu_hours: study.max_gpu_hours };
  const used = { trials: study.n_trials, epochs: study.epochs, gpu_hours: study.gpu_hours };
  const labels = { trials: t`More trials`, epochs: t`More epochs`, gpu_hours: t`More GPU-hours` };

  function submit(event: SubmitEvent) {
    event.preventDefault();
    extend.mutate(addition, { onSuccess: onDone });
  }

  return (
    <form onSubmit={submit} aria-label={t`Add to the budget`}>
      <Stack>
        <Text size="sm">
          {study.state === "completed"
            ? t`The study goes on. Trials that were stopped when it ended are taken up again, from their last checkpoints where these are still there.`
            : t`The study goes on without a break.`}
        </Text>
        {FIELDS.map((name) => {
          const limit = limits[name];
          if (limit === null) return null;
          const sum = limit + Number(typed[name]);
          return (
            <NumberInput
              key={name}
              label={labels[name]}
              description={typed[name] === "" ? t`${shown(used[name])} used of ${shown(limit)}` : t`${shown(used[name])} used of ${shown(limit)}, then of ${shown(sum)}`}
              min={name === "gpu_hours" ? 0 : 1}
              allowDecimal={name === "gpu_hours"}
              value={typed[name]}
              error={problem?.of(name)}
              onChange={(value) => setTyped((known) => ({ ...known, [name]: value }))}
            />
          );
        })}
        <ProblemAlert error={extend.error} atFields={FIELDS} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onDone}>
            {t`Leave it`}
          </Button>
          <Button type="submit" loading={extend.isPending} disabled={Object.keys(addition).length === 0}>
            {t`Add`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
