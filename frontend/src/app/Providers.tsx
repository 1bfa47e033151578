// SPDX-License-Identifier: Apache-2.0
// What every page may count on: the language, the theme and the query cache.
import { i18n } from "@lingui/core";
import { I18nProvider } from "@lingui/react";
import { MantineProvider } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { cssVariables, theme } from "@/app/theme";
import { styleNonce } from "@/lib/nonce";

interface Props {
  queries: QueryClient;
  children: ReactNode;
  /** Tests: no transitions, no portals' delays. */
  isTest?: boolean;
}

export function Providers({ queries, children, isTest = false }: Props) {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
      env={isTest ? "test" : "default"}
    >
      <I18nProvider i18n={i18n}>
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </I18nProvider>
    </MantineProvider>
  );
}
