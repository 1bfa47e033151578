// SPDX-License-Identifier: Apache-2.0
// Renders the whole dashboard at an address, as a browser would.
import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";

import { Providers } from "@/app/Providers";
import { createQueryClient } from "@/app/queries/queryClient";
import { routes } from "@/app/router";

export function renderPage(route: string) {
  const router = createMemoryRouter(routes, { initialEntries: [route] });
  const queries = createQueryClient({ retries: 0 });
  const screen = render(
    <Providers queries={queries} isTest>
      <RouterProvider router={router} />
    </Providers>,
  );
  return { ...screen, user: userEvent.setup(), router, queries };
}
