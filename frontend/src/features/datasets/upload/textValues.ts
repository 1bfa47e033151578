// SPDX-License-Identifier: Apache-2.0
// How a text becomes tokens and examples, as it is typed and as it is sent.
export interface TextValues {
  tokenizer: string;
  vocabulary_size: number | string;
  context_length: number | string;
  documents: string;
  text_column: string;
}

export const DEFAULT_TEXT: TextValues = {
  tokenizer: "",
  vocabulary_size: "",
  context_length: "",
  documents: "",
  text_column: "",
};

/** What of the values to send: single bytes have a vocabulary of their own, and lines have fields, not documents. */
export function textFields({ tokenizer, vocabulary_size, context_length, documents, text_column }: TextValues, isOfLines: boolean) {
  return {
    tokenizer,
    vocabulary_size: tokenizer === "byte" ? "" : String(vocabulary_size),
    context_length: String(context_length),
    documents: isOfLines ? "" : documents,
    text_column: isOfLines ? text_column.trim() : "",
  };
}
