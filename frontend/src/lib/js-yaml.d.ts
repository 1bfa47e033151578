// SPDX-License-Identifier: Apache-2.0
// What of js-yaml is used; the package has no types of its own.
declare module "js-yaml" {
  interface Schema {
    extend: (types: { implicit: readonly unknown[] }) => Schema;
  }
  export const CORE_SCHEMA: Schema;
  export const types: { merge: unknown };
  /** Raises YAMLException. */
  export function load(text: string, options?: { schema?: Schema }): unknown;
  export function dump(value: unknown, options?: { lineWidth?: number; noRefs?: boolean; schema?: Schema }): string;
  export class YAMLException extends Error {
    reason: string;
    mark?: { line: number };
  }
}
