// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that make a new dataset: an upload, or what is at an address.
import { t } from "@lingui/core/macro";

import { UploadDialog } from "@/components/form/upload/UploadDialog";
import { OriginChoice } from "@/features/datasets/upload/OriginChoice";
import { lazyComponent } from "@/lib/chunk";

const NewDatasetForm = lazyComponent(async () => (await import("./upload/NewDatasetForm")).NewDatasetForm);
const DatasetFromAddress = lazyComponent(async () => (await import("./source/FromAddress")).DatasetFromAddress);

export function NewDataset() {
  return (
    <UploadDialog label={t`Upload a dataset`} isMain>
      {() => <OriginChoice upload={<NewDatasetForm />} address={<DatasetFromAddress />} />}
    </UploadDialog>
  );
}
