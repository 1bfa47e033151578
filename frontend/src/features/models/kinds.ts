// The kinds of code a model may be.
import type { ModelVersion } from "@/api/types";

export type UploadedKind = "package" | "script";

export const KINDS: Record<ModelVersion["kind"], string> = {
  package: "Package",
  script: "Script",
  builtin: "Built-in",
};

export const UPLOADED_KINDS: Record<UploadedKind, { label: string; description: string }> = {
  package: { label: "Package", description: "MLHub calls its functions and trains it on any number of GPUs." },
  script: { label: "Script", description: "An unmodified program that trains by itself." },
};

export const ACCEPT = ".zip,.py";
