// SPDX-License-Identifier: Apache-2.0
// Fields for when a boost or what is requested begins: at once, or at a time that is still to come.
import { t } from "@lingui/core/macro";
import { NativeSelect, TextInput } from "@mantine/core";

import type { TypedBegin } from "@/features/quotas/boosts/begin";

interface Props {
  begin: TypedBegin;
  /** What beginning at once is called. */
  atOnce: string;
  onBegin: (begin: TypedBegin) => void;
  error: string | undefined;
}

export function BeginFields({ begin, atOnce, onBegin, error }: Props) {
  return (
    <>
      <NativeSelect
        label={t`Begin`}
        value={begin.isLater ? "later" : "now"}
        data={[
          { value: "now", label: atOnce },
          { value: "later", label: t`at a later time` },
        ]}
        onChange={(event) => onBegin({ ...begin, isLater: event.currentTarget.value === "later" })}
      />
      {begin.isLater && (
        <TextInput
          type="datetime-local"
          label={t`Begins at`}
          value={begin.at}
          onChange={(event) => onBegin({ ...begin, at: event.currentTarget.value })}
          error={error}
        />
      )}
    </>
  );
}
