/**
 * The language of the page: that of JupyterLab or of our setting, independent of installed language packs.
 */

import type { Gettext, TranslationBundle } from '@jupyterlab/translation';

import type { Json } from '../api/wire.js';
import { list, record, string } from '../api/wire.js';

export const DOMAIN = 'jupyter_pai';

type GettextCatalog = Parameters<Gettext['loadJSON']>[0];

/** Return the language tag of the setting, else that of JupyterLab. Chinese is zh-CN, except Traditional Chinese. */
export function languageTag(setting: unknown, lab: string): string {
  const tag = setting === 'en' || setting === 'zh-CN' ? setting : lab.replace('_', '-');
  return /^zh\b(?!.*\b(tw|hk|mo|hant)\b)/i.test(tag) ? 'zh-CN' : tag;
}

/**
 * Return the locale of times and numbers: the browser's preferred locale of this language and script (`en-GB` on a page
 * in `en`), else the language. Undefined for an invalid tag.
 */
export function localeOf(language: string, preferred: readonly string[]): string | undefined {
  const target = languageAndScript(language);
  return target ? (preferred.find(tag => languageAndScript(tag) === target) ?? language) : undefined;
}

/** Return language and script, as `zh-Hans`; empty for an invalid tag. */
function languageAndScript(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script ?? ''}`;
  } catch {
    return '';
  }
}

/** Return whether a bundle contains our texts. */
export function isTranslated(trans: TranslationBundle): boolean {
  return trans.__('Training jobs') !== 'Training jobs';
}

/** Return the language of a catalog; empty for English, which has none. */
export function languageOf(texts: unknown): string {
  return string(record(record(texts)[''])['language']);
}

/**
 * Convert a catalog of the engine to the format of `Gettext`, which names one field differently than JupyterLab's
 * files.
 */
export function toGettextCatalog(texts: unknown): GettextCatalog {
  const pluralForms = string(record(record(texts)[''])['plural_forms']);
  return { ...record(texts), '': { language: languageOf(texts), domain: DOMAIN, pluralForms } };
}

/** Return a settings schema with translated titles and descriptions. */
export function translateSchema(schema: Json, trans: TranslationBundle): Json {
  // `tests/design/messages.py` extracts these texts from the schema files.
  // eslint-disable-next-line no-restricted-syntax
  const translate = (value: unknown) => trans.__(string(value));
  const result: Record<string, unknown> = { ...schema };
  for (const key of ['title', 'description'].filter(name => name in schema)) {
    result[key] = translate(schema[key]);
  }
  if ('oneOf' in schema) {
    result['oneOf'] = list(schema['oneOf']).map(choice => translateSchema(record(choice), trans));
  }
  if ('properties' in schema) {
    const properties = Object.entries(record(schema['properties']));
    result['properties'] = Object.fromEntries(
      properties.map(([name, property]) => [name, translateSchema(record(property), trans)])
    );
  }
  return result;
}
