/**
 * The language of the page: that of JupyterLab or of our setting, independent of installed language packs.
 */

import type { Gettext, TranslationBundle } from '@jupyterlab/translation';

import type { Json } from '../api/wire.js';
import { list, record, string } from '../api/wire.js';

export const DOMAIN = 'jupyter_pai';

type Catalogue = Parameters<Gettext['loadJSON']>[0];

/** Return the language tag of the setting, else that of JupyterLab. Chinese is zh-CN, except Traditional Chinese. */
export function spoken(setting: unknown, lab: string): string {
  const tag = setting === 'en' || setting === 'zh-CN' ? setting : lab.replace('_', '-');
  return /^zh\b(?!.*\b(tw|hk|mo|hant)\b)/i.test(tag) ? 'zh-CN' : tag;
}

/**
 * Return the locale of times and numbers: the browser's preferred locale of this language and script (`en-GB` on a page
 * in `en`), else the language. Undefined for an invalid tag.
 */
export function localeOf(language: string, preferred: readonly string[]): string | undefined {
  const wanted = written(language);
  return wanted ? (preferred.find(tag => written(tag) === wanted) ?? language) : undefined;
}

/** Return language and script, as `zh-Hans`; empty for an invalid tag. */
function written(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script ?? ''}`;
  } catch {
    return '';
  }
}

/** Whether a bundle contains our texts. */
export function isFilled(trans: TranslationBundle): boolean {
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
export function catalogue(texts: unknown): Catalogue {
  const pluralForms = string(record(record(texts)[''])['plural_forms']);
  return { ...record(texts), '': { language: languageOf(texts), domain: DOMAIN, pluralForms } };
}

/** Return a settings schema with translated titles and descriptions. */
export function translated(schema: Json, trans: TranslationBundle): Json {
  // `tests/design/messages.py` extracts these texts from the schema files.
  // eslint-disable-next-line no-restricted-syntax
  const word = (value: unknown) => trans.__(string(value));
  const said: Record<string, unknown> = { ...schema };
  for (const key of ['title', 'description'].filter(one => one in schema)) {
    said[key] = word(schema[key]);
  }
  if ('oneOf' in schema) {
    said['oneOf'] = list(schema['oneOf']).map(one => translated(record(one), trans));
  }
  if ('properties' in schema) {
    const all = Object.entries(record(schema['properties']));
    said['properties'] = Object.fromEntries(all.map(([name, one]) => [name, translated(record(one), trans)]));
  }
  return said;
}
