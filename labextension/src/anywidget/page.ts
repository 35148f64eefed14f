/**
 * The page around a widget: its language, its colours, its dialogs.
 */

import { Gettext } from '@jupyterlab/translation/lib/gettext.js';

import { PageHost } from '../host/page.js';
import type { IContext } from '../ui/context.js';
import { setLocale } from '../ui/format.js';
import { DOMAIN, catalogue, languageOf, localeOf } from '../ui/translation.js';

/** What a view needs beside its engine. `place` is the node that it is rendered into. */
interface IPage extends Omit<IContext, 'engine'> {
  readonly place: HTMLElement;
}

/** Prepare a widget's node for a view. `texts` is a catalog, empty for English. */
export function prepare(node: HTMLElement, texts: unknown): IPage {
  const language = languageOf(texts);
  const lang = language || 'en';
  setLocale(localeOf(lang, navigator.languages));
  node.lang = lang;
  const trans = new Gettext({ domain: DOMAIN, locale: lang });
  if (language) {
    trans.loadJSON(catalogue(texts), DOMAIN);
  }
  node.classList.add('jp-pai-Page');
  const colors = theme();
  if (colors) {
    node.dataset['theme'] = colors;
  }
  const place = document.createElement('div');
  node.replaceChildren(place);
  return { place, trans, lang, host: new PageHost(node, trans) };
}

/** Return the theme of the page: `vscode`, `light` or `dark`; empty in JupyterLab, whose variables apply directly. */
function theme(): string {
  const style = getComputedStyle(document.body);
  if (style.getPropertyValue('--vscode-editor-background')) {
    return 'vscode';
  }
  if (document.body.dataset['jpThemeName']) {
    return '';
  }
  const chosen = document.documentElement.getAttribute('theme'); // Set by Colab
  const isDark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  return isDark ? 'dark' : 'light';
}
