// SPDX-License-Identifier: Apache-2.0
// What a state's icon shows, whatever it is the state of: each domain says which of its states is shown by which.
export type StateSign = "waiting" | "starting" | "running" | "stopping" | "paused" | "done" | "failed" | "struck" | "attention";
