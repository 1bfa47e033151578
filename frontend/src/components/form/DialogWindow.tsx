// SPDX-License-Identifier: Apache-2.0
// The window of a dialogue. It is closed at first, so that it knows where the focus was when it opens and gives it back.
import { t } from "@lingui/core/macro";
import { Modal, type ModalProps } from "@mantine/core";
import { Suspense, useEffect, useState } from "react";

import { Loading } from "@/components/feedback/Loading";

export function DialogWindow({ opened, children, ...rest }: ModalProps) {
  const [isMounted, setMounted] = useState(false);
  // oxlint-disable-next-line react/set-state-in-effect -- it opens after it is there
  useEffect(() => setMounted(true), []);
  return (
    <Modal opened={opened && isMounted} closeButtonProps={{ "aria-label": t`Close` }} {...rest}>
      <Suspense fallback={<Loading />}>{children}</Suspense>
    </Modal>
  );
}
