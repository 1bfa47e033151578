// SPDX-License-Identifier: Apache-2.0
// Mantine's field for a number alone, as a part that can be loaded on demand.
export { NumberInput } from "@mantine/core";
