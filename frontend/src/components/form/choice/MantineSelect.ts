// SPDX-License-Identifier: Apache-2.0
// Mantine's field for a choice alone, as a part that can be loaded on demand.
export { Select } from "@mantine/core";
