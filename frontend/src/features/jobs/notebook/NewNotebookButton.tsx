// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that start a notebook, where the installation offers them.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { schedulerStatusQuery } from "@/api/scheduler";
import { Dialog } from "@/components/form/Dialog";
import { lazyComponent } from "@/lib/chunk";

const NotebookForm = lazyComponent(async () => (await import("./NotebookForm")).NotebookForm);

export function NewNotebookButton() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { data: status } = useQuery(schedulerStatusQuery);
  if (status?.offers_notebooks !== true) return null;
  return (
    <>
      <Button variant="default" onClick={open}>
        {t`New notebook`}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={t`New notebook`}>
        <NotebookForm onBack={close} />
      </Dialog>
    </>
  );
}
