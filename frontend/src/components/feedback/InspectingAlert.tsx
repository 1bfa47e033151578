// SPDX-License-Identifier: Apache-2.0
// Shown while an upload is inspected.
import { Alert, Loader } from "@mantine/core";

export function InspectingAlert({ title, children }: { title: string; children: string }) {
  return (
    <Alert role="status" icon={<Loader size={16} />} title={title}>
      {children} This page follows by itself.
    </Alert>
  );
}
