// SPDX-License-Identifier: Apache-2.0
// Starts the dashboard in the language of its reader: the texts of a module are translated as it is loaded.
import { activateLocale } from "@/locales/locale";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root.");

await activateLocale();
const { start } = await import("@/app/start");
start(root);
