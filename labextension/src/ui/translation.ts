/**
 * The language of the page: JupyterLab's, or the one that the user chose for us, whatever JupyterLab has installed.
 */

import type { Gettext, TranslationBundle } from '@jupyterlab/translation';

import type { Json } from '../api/wire.js';
import { list, record, string } from '../api/wire.js';

export const DOMAIN = 'jupyter_pai';

type Catalogue = Parameters<Gettext['loadJSON']>[0];

/** The tag of the language: as it is set, else as JupyterLab speaks. Chinese is zh-CN, unless it is Traditional. */
export function spoken(setting: unknown, lab: string): string {
  const tag = setting === 'en' || setting === 'zh-CN' ? setting : lab.replace('_', '-');
  return /^zh\b(?!.*\b(tw|hk|mo|hant)\b)/i.test(tag) ? 'zh-CN' : tag;
}

/**
 * How times and numbers are written on a page in this language: as one of the browser's `preferred` tags has it if that
 * is the same language in the same script (`en-GB` on a page in `en`). Undefined for what is no tag.
 */
export function localeOf(language: string, preferred: readonly string[]): string | undefined {
  const wanted = written(language);
  return wanted ? (preferred.find(tag => written(tag) === wanted) ?? language) : undefined;
}

/** Language and script, as `zh-Hans`; empty for what is no tag. */
function written(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script ?? ''}`;
  } catch {
    return '';
  }
}

/** Whether a bundle has texts of ours. */
export function isFilled(trans: TranslationBundle): boolean {
  return trans.__('Training jobs') !== 'Training jobs';
}

/** The language that our catalogue is in; empty for English, which needs none. */
export function languageOf(texts: unknown): string {
  return string(record(record(texts)[''])['language']);
}

/**
 * Our catalogue, which the engine read from its own package, in the form that `Gettext` takes. That has another name for
 * one field than JupyterLab's files.
 */
export function catalogue(texts: unknown): Catalogue {
  const pluralForms = string(record(record(texts)[''])['plural_forms']);
  return { ...record(texts), '': { language: languageOf(texts), domain: DOMAIN, pluralForms } };
}

/** A schema of settings with its titles and descriptions in the page's language. */
export function translated(schema: Json, trans: TranslationBundle): Json {
  // In the catalogue as well: `tests/design/messages.py` reads our schemas.
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
