// SPDX-License-Identifier: Apache-2.0
// A button, and the dialogue it opens, with a form that uploads something.
import { Button, Skeleton } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, Suspense } from "react";
import { useSearchParams } from "react-router";

import { Icon } from "@/components/display/Icon";
import { Dialog } from "@/components/form/Dialog";
import { UPLOAD_TO, unfinishedUploadsKey } from "@/components/form/upload/UnfinishedUploads";

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
  const [isOpenedHere, { open, close: closeHere }] = useDisclosure(false);
  const [search, setSearch] = useSearchParams();
  const queries = useQueryClient();
  const isOpen = isOpenedHere || search.has(UPLOAD_TO);

  function close() {
    closeHere();
    if (search.has(UPLOAD_TO)) {
      setSearch(
        (known) => {
          known.delete(UPLOAD_TO);
          return known;
        },
        { replace: true },
      );
    }
    void queries.invalidateQueries({ queryKey: unfinishedUploadsKey }); // what was left is shown on the page
  }

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
