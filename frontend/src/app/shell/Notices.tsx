// SPDX-License-Identifier: Apache-2.0
// Where notifications appear. Who shows one needs only their store, not this.
import { Notifications } from "@mantine/notifications";

export function Notices() {
  return <Notifications position="bottom-right" />;
}
