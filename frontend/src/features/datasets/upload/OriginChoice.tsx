// SPDX-License-Identifier: Apache-2.0
// Where a new version comes from: this computer, or an address that the platform reads.
import { t } from "@lingui/core/macro";
import { NativeSelect, Stack } from "@mantine/core";
import { type ReactNode, Suspense, useState } from "react";

import { Loading } from "@/components/feedback/Loading";

const ORIGINS = [
  { value: "upload", label: t`On this computer` },
  { value: "address", label: t`At an address` },
];

export function OriginChoice({ upload, address }: { upload: ReactNode; address: ReactNode }) {
  const [origin, setOrigin] = useState("upload");
  return (
    <Stack>
      <NativeSelect
        label={t`Where the file is`}
        data={ORIGINS}
        value={origin}
        onChange={(event) => setOrigin(event.currentTarget.value)}
      />
      <Suspense fallback={<Loading label={t`Loading the form`} />}>{origin === "upload" ? upload : address}</Suspense>
    </Stack>
  );
}
