// SPDX-License-Identifier: Apache-2.0
// What of js-yaml is used; the package has no types of its own.
declare module "js-yaml" {
  /** Raises YAMLException. */
  export function load(text: string): unknown;
  export function dump(value: unknown, options?: { lineWidth?: number; noRefs?: boolean }): string;
  export class YAMLException extends Error {
    reason: string;
    mark?: { line: number };
  }
}
