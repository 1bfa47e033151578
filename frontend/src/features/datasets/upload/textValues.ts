// SPDX-License-Identifier: Apache-2.0
// How a text becomes tokens and examples, as it is typed and as it is sent.
export interface TextValues {
  tokenizer: string;
  vocabulary_size: number | string;
  context_length: number | string;
  documents: string;
}

export const DEFAULT_TEXT: TextValues = { tokenizer: "", vocabulary_size: "", context_length: "", documents: "" };

/** What of the values to send: single bytes have a vocabulary of their own. */
export function textFields({ vocabulary_size, context_length, ...words }: TextValues) {
  const size = words.tokenizer === "byte" ? "" : String(vocabulary_size);
  return { ...words, vocabulary_size: size, context_length: String(context_length) };
}
