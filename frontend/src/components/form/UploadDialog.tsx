// SPDX-License-Identifier: Apache-2.0
// A button, and the dialogue it opens, with a form that uploads something.
import { Button, Modal } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";

import { Icon } from "@/components/display/Icon";

interface Props {
  /** On the button, and again above the form. */
  label: string;
  /** The page's main act. */
  isMain?: boolean;
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
      <Modal
        opened={isOpen}
        onClose={close}
        title={label}
        size="lg"
        fullScreen={isPhone}
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {children(close)}
      </Modal>
    </>
  );
}
