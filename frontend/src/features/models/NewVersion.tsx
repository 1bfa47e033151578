// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that upload a new version of a model's code.
import { t } from "@lingui/core/macro";

import { UploadDialog } from "@/components/form/upload/UploadDialog";
import type { NewVersionProps } from "@/features/models/NewVersionForm";
import { lazyComponent } from "@/lib/chunk";

const NewVersionForm = lazyComponent(async () => (await import("./NewVersionForm")).NewVersionForm);

export function NewVersion({ onUploaded, ...rest }: NewVersionProps) {
  return (
    <UploadDialog label={t`Upload a new version`}>
      {(close) => (
        <NewVersionForm
          {...rest}
          onUploaded={(version) => {
            close();
            onUploaded(version);
          }}
        />
      )}
    </UploadDialog>
  );
}
