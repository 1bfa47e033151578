// SPDX-License-Identifier: Apache-2.0
// The dashboard's language. English stands in the code; every other language is a catalogue. Its common part is loaded before
// anything else, and that of a feature before its page.
import { i18n } from "@lingui/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";
import { catalogues } from "virtual:catalogues";

const LOCALES = { en: "English", "zh-CN": "简体中文" } as const;
export type Locale = keyof typeof LOCALES;

const KEY = "mlhub-locale";

/** Makes the chosen language the one of every text. Modules translate as they are loaded: it comes before them. */
export async function activateLocale(locale: Locale = preferredLocale()): Promise<void> {
  // the build has compiled the English texts
  if (!import.meta.env.PROD) i18n.setMessagesCompiler(remembered(compileMessage));
  i18n.loadAndActivate({ locale, messages: {} });
  await loadTexts("common");
  document.documentElement.lang = locale;
}

/** Loads the texts of `feature` in the active language, which must be there before the feature's modules are. */
export async function loadTexts(feature: string): Promise<void> {
  const locale = currentLocale();
  if (locale === "en") return;
  const load = catalogues[locale][feature];
  if (load !== undefined) i18n.load(locale, (await load()).messages);
}

/** The one chosen here before, else the first of the browser's languages that there is, else English. */
export function preferredLocale(): Locale {
  const stored = localStorage.getItem(KEY);
  if (stored !== null && isLocale(stored)) return stored;
  for (const language of navigator.languages) {
    if (language.startsWith("zh")) return "zh-CN";
    if (language.startsWith("en")) return "en";
  }
  return "en";
}

/** Remembers the language in this browser and loads the page anew. */
export function chooseLocale(locale: Locale): void {
  localStorage.setItem(KEY, locale);
  location.reload();
}

/** Each language with its own name. */
export function localeNames(): [Locale, string][] {
  return Object.entries(LOCALES) as [Locale, string][];
}

export function currentLocale(): Locale {
  return isLocale(i18n.locale) ? i18n.locale : "en";
}

/** For dates: with the English texts, the browser's own way to write them. */
export function dateLocale(): string | undefined {
  return i18n.locale === "en" ? undefined : i18n.locale;
}

function isLocale(value: string): value is Locale {
  return Object.hasOwn(LOCALES, value);
}

/** English texts are compiled in the browser, each once. */
function remembered<T>(compile: (message: string) => T): (message: string) => T {
  const compiled = new Map<string, T>();
  return (message) => {
    const known = compiled.get(message);
    if (known !== undefined) return known;
    const made = compile(message);
    compiled.set(message, made);
    return made;
  };
}
