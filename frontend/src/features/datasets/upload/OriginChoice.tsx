// SPDX-License-Identifier: Apache-2.0
// Where a new version comes from: this computer, or an address that the platform reads.
import { NativeSelect, Stack } from "@mantine/core";
import { type ReactNode, Suspense, useState } from "react";

import { Loading } from "@/components/feedback/Loading";

const ORIGINS = [
  { value: "upload", label: "On this computer" },
  { value: "address", label: "At an address" },
];

export function OriginChoice({ upload, address }: { upload: ReactNode; address: ReactNode }) {
  const [origin, setOrigin] = useState("upload");
  return (
    <Stack>
      <NativeSelect
        label="Where the file is"
        data={ORIGINS}
        value={origin}
        onChange={(event) => setOrigin(event.currentTarget.value)}
      />
      <Suspense fallback={<Loading label="Loading the form" />}>{origin === "upload" ? upload : address}</Suspense>
    </Stack>
  );
}
