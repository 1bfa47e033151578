// SPDX-License-Identifier: Apache-2.0
// The kinds of code a model may be.
import type { ModelVersion } from "@/api/types";

export type UploadedKind = "package" | "script";

export const KINDS: Record<ModelVersion["kind"], string> = {
  package: "Package",
  script: "Script",
  builtin: "Built-in",
};

export const UPLOADED_KINDS: Record<UploadedKind, { label: string; description: string }> = {
  package: { label: "Package", description: "MLHub trains it on any number of GPUs: code with build_model, or a model made elsewhere." },
  script: { label: "Script", description: "An unmodified program that trains by itself." },
};

export const ACCEPT = ".zip,.py,.onnx,.keras,.h5,.t7";
