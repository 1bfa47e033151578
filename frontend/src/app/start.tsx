// SPDX-License-Identifier: Apache-2.0
// The dashboard, once its language is known.
import "@/app/mantine.css";
import "@mantine/notifications/styles.css";
import "@/app/global.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createBrowserRouter, RouterProvider } from "react-router";

import { Providers } from "@/app/Providers";
import { createQueryClient } from "@/app/queries/queryClient";
import { routes } from "@/app/router";
import { keepFocus } from "@/app/keptFocus";
import { publishStyleNonce } from "@/lib/nonce";

export function start(root: HTMLElement): void {
  publishStyleNonce();
  keepFocus();
  createRoot(root).render(
    <StrictMode>
      <Providers queries={createQueryClient()}>
        <RouterProvider router={createBrowserRouter(routes)} />
      </Providers>
    </StrictMode>,
  );
}
