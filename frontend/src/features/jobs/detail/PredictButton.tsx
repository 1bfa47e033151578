// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that start a job which uses a trained model on a dataset.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";

import type { Job } from "@/api/types";
import { Dialog } from "@/components/form/Dialog";
import { lazyComponent } from "@/lib/chunk";

const PredictForm = lazyComponent(async () => (await import("./PredictForm")).PredictForm);

export function PredictButton({ job }: { job: Job }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const isPhone = useMediaQuery("(max-width: 48em)");
  return (
    <>
      <Button onClick={open}>{t`Predict`}</Button>
      <Dialog opened={isOpen} onClose={close} title={t`Predict with ${job.name}`} fullScreen={isPhone}>
        <PredictForm job={job} onBack={close} />
      </Dialog>
    </>
  );
}
