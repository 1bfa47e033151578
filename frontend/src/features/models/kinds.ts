// SPDX-License-Identifier: Apache-2.0
// The kinds of code a model may be.
import { t } from "@lingui/core/macro";

import type { ModelVersion } from "@/api/types";

export type UploadedKind = "package" | "script";

export const KINDS: Record<ModelVersion["kind"], string> = {
  package: t`Package`,
  script: t`Script`,
  builtin: t`Built-in`,
  mlflow: t`MLflow model`,
};

/** "": as its code says. */
export const UPLOADED_KINDS: Record<UploadedKind | "", { label: string; description: string }> = {
  "": { label: t`As its code says`, description: t`A package where model.py, or the only file, defines build_model; otherwise a script: train.py or main.py.` },
  package: { label: t`Package`, description: t`MLHub trains it on any number of GPUs: code with build_model, or a model made elsewhere.` },
  script: { label: t`Script`, description: t`An unmodified program that trains by itself.` },
};

export const ACCEPT = ".zip,.py,.onnx,.keras,.h5,.t7";
