// SPDX-License-Identifier: Apache-2.0
// Numbers of GPUs by type as people write them: "A100: 2, T4: 4".

export function typesText(byType: Record<string, number>): string {
  return Object.entries(byType)
    .map(([type, most]) => `${type}: ${most}`)
    .join(", ");
}

/** null where it cannot be read. */
export function asTypes(text: string): Record<string, number> | null {
  const found: Record<string, number> = {};
  for (const part of text.split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const match = /^(.+?)\s*:\s*(\d{1,6})$/.exec(part);
    if (!match?.[1] || !match[2]) return null;
    found[match[1]] = Number(match[2]);
  }
  return found;
}
