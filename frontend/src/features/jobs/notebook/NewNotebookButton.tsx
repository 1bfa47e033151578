// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that start a notebook; where the installation has none, the dialogue says why.
import { t } from "@lingui/core/macro";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { schedulerStatusQuery } from "@/api/scheduler";
import { Dialog } from "@/components/form/Dialog";
import { lazyComponent } from "@/lib/chunk";

const NotebookForm = lazyComponent(async () => (await import("./NotebookForm")).NotebookForm);

export function NewNotebookButton() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { data: status } = useQuery(schedulerStatusQuery);
  if (status === undefined) return null;
  return (
    <>
      <Button variant="default" onClick={open}>
        {t`New notebook`}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={t`New notebook`}>
        {status.offers_notebooks ? <NotebookForm onBack={close} /> : <Text size="sm">{status.no_notebooks_because}</Text>}
      </Dialog>
    </>
  );
}
