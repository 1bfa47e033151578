// SPDX-License-Identifier: Apache-2.0
// The pages of the policy lab in one chunk: each chunk more is named in what every page loads first.
export { LabPage } from "./LabPage";
export { ReplayPage } from "./ReplayPage";
