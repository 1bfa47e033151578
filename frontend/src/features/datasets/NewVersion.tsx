// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that make a new version of a dataset: an upload, or what is at an address.
import { t } from "@lingui/core/macro";

import type { DatasetVersion } from "@/api/types";
import { UploadDialog } from "@/components/form/upload/UploadDialog";
import type { NewVersionProps } from "@/features/datasets/upload/NewVersionForm";
import { OriginChoice } from "@/features/datasets/upload/OriginChoice";
import { lazyComponent } from "@/lib/chunk";

const NewVersionForm = lazyComponent(async () => (await import("./upload/NewVersionForm")).NewVersionForm);
const VersionFromAddress = lazyComponent(async () => (await import("./source/FromAddress")).VersionFromAddress);

export function NewVersion({ onUploaded, ...rest }: NewVersionProps) {
  return (
    <UploadDialog label={t`Upload a new version`}>
      {(close) => {
        const done = (version: DatasetVersion) => {
          close();
          onUploaded(version);
        };
        return (
          <OriginChoice
            upload={<NewVersionForm {...rest} onUploaded={done} />}
            address={<VersionFromAddress {...rest} onMade={done} />}
          />
        );
      }}
    </UploadDialog>
  );
}
