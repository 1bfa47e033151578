// SPDX-License-Identifier: Apache-2.0
// The window of a tip, with the code that places it.
import { Tooltip } from "@mantine/core";

export { Tooltip as TipWindow };
