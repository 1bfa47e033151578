// SPDX-License-Identifier: Apache-2.0
// How a text may be split: into tokens, and into documents.
import { t } from "@lingui/core/macro";

import type { DatasetDocuments, Tokenizer } from "@/api/types";

const TOKENIZER_LABELS: Record<Tokenizer, string> = {
  bpe: t`Byte pairs learnt from the text`,
  word: t`Whole words`,
  byte: t`Single bytes`,
};

const DOCUMENT_LABELS: Record<Exclude<DatasetDocuments, "whole">, string> = {
  paragraphs: t`Each paragraph is one`,
  lines: t`Each line is one`,
};

/** What becomes one token of a text; "" is MLHub's choice. */
export const TOKENIZERS = [{ value: "", label: t`Automatic: by the length of the text` }, ...choices(TOKENIZER_LABELS)];

/** What of a text is one document; "" is the whole. */
export const DOCUMENTS = [{ value: "", label: t`The whole file is one` }, ...choices(DOCUMENT_LABELS)];

function choices(labels: Record<string, string>) {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}
