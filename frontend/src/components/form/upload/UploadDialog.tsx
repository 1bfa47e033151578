// SPDX-License-Identifier: Apache-2.0
// A button, and the dialogue it opens, with a form that uploads something.
import { Button, Skeleton } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { type ReactNode, Suspense } from "react";

import { Icon } from "@/components/display/Icon";
import { Dialog } from "@/components/form/Dialog";

/** Of the form until its code has arrived. */
const FORM_HEIGHT = 480;

interface Props {
  /** On the button, and again above the form. */
  label: string;
  /** The page's main act. */
  isMain?: boolean;
  /** May be loaded on demand. */
  children: (close: () => void) => ReactNode;
}

export function UploadDialog({ label, isMain = false, children }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const isPhone = useMediaQuery("(max-width: 48em)");
  return (
    <>
      <Button
        variant={isMain ? "filled" : "default"}
        leftSection={isMain ? <Icon name="upload" size={16} /> : undefined}
        onClick={open}
      >
        {label}
      </Button>
      <Dialog
        opened={isOpen}
        onClose={close}
        title={label}
        size="lg"
        fullScreen={isPhone}
        closeOnClickOutside={false}
      >
        <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>{children(close)}</Suspense>
      </Dialog>
    </>
  );
}
