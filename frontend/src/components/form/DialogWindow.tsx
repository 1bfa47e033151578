// SPDX-License-Identifier: Apache-2.0
// The window of a dialogue. It is closed at first, so that it knows where the focus was when it opens and gives it back.
import { t } from "@lingui/core/macro";
import { Modal, type ModalProps } from "@mantine/core";
import { createContext, Suspense, use, useEffect, useState } from "react";

import { Loading } from "@/components/feedback/Loading";

/** Of the dialogue around: one inside it opens (1) or closes (-1). */
const Around = createContext<((change: 1 | -1) => void) | undefined>(undefined);

/** Escape closes the innermost alone: what was typed in the one around it stays. */
export function DialogWindow({ opened, children, closeOnEscape = true, ...rest }: ModalProps) {
  const [isMounted, setMounted] = useState(false);
  const [nInside, setInside] = useState(0);
  const [count] = useState(() => (change: 1 | -1) => setInside((known) => known + change));
  const around = use(Around);
  // oxlint-disable-next-line react/set-state-in-effect -- it opens after it is there
  useEffect(() => setMounted(true), []);
  useEffect(() => {
    if (!opened || around === undefined) return;
    around(1);
    return () => around(-1);
  }, [opened, around]);
  return (
    <Modal opened={opened && isMounted} closeButtonProps={{ "aria-label": t`Close` }} closeOnEscape={closeOnEscape && nInside === 0} {...rest}>
      <Around value={count}>
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </Around>
    </Modal>
  );
}
