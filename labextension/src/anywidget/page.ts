/**
 * The environment of a widget on a page: language, colors and dialogs.
 */

import { Gettext } from '@jupyterlab/translation/lib/gettext.js';

import { PageHost } from '../host/page.js';
import type { IContext } from '../ui/context.js';
import { setLocale } from '../ui/format.js';
import { DOMAIN, languageOf, localeOf, toGettextCatalog } from '../ui/translation.js';

/** The context of a view without its engine. The view is rendered into `container`. */
interface IPage extends Omit<IContext, 'engine'> {
  readonly container: HTMLElement;
}

/** Prepare a widget's node for a view. `texts` is a catalog, empty for English. */
export function prepare(node: HTMLElement, texts: unknown): IPage {
  const language = languageOf(texts);
  const lang = language || 'en';
  setLocale(localeOf(lang, navigator.languages));
  node.lang = lang;
  const trans = new Gettext({ domain: DOMAIN, locale: lang });
  if (language) {
    trans.loadJSON(toGettextCatalog(texts), DOMAIN);
  }
  node.classList.add('jp-pai-Page');
  const colors = theme();
  if (colors) {
    node.dataset['theme'] = colors;
  }
  const container = document.createElement('div');
  node.replaceChildren(container);
  return { container, trans, lang, host: new PageHost(node, trans) };
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
  const colabTheme = document.documentElement.getAttribute('theme'); // Set by Colab
  const isDark = colabTheme ? colabTheme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  return isDark ? 'dark' : 'light';
}
