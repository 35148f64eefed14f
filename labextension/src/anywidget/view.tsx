/**
 * The job view as a widget on a page without the extension, fed by a kernel. It is bundled into one file with React,
 * which such pages do not provide, and loaded by `loader.ts`.
 */

import { Gettext } from '@jupyterlab/translation/lib/gettext.js';
import * as React from 'react';
import { createRoot } from 'react-dom/client';

import type { IWidgetModel } from '../api/comm.js';
import { KernelEngine } from '../api/comm.js';
import { JobModel } from '../api/jobmodel.js';
import { string } from '../api/wire.js';
import { PageHost } from '../host/page.js';
import { JobView } from '../job/view.js';
import type { IContext } from '../ui/context.js';
import { setLocale } from '../ui/format.js';
import { DOMAIN, catalogue, languageOf, localeOf } from '../ui/translation.js';
import { Attention } from '../ui/visibility.js';

/** Show the job of a widget in a node; return a function that removes it. `texts` is a catalog, empty for English. */
export function show(widget: IWidgetModel, node: HTMLElement, texts: unknown): () => void {
  const lang = languageOf(texts) || 'en';
  setLocale(localeOf(lang, navigator.languages));
  node.lang = lang;
  const trans = translation(texts);
  node.classList.add('jp-pai-Page');
  if (theme()) {
    node.dataset['theme'] = theme();
  }
  const place = document.createElement('div');
  node.replaceChildren(place);
  const engine = new KernelEngine(widget, trans);
  const context: IContext = { engine, trans, lang, host: new PageHost(node, trans) };
  const model = new JobModel(engine, string(widget.get('job_id')));
  const root = createRoot(place);
  const draw = (isVisible: boolean) =>
    root.render(<JobView {...context} model={model} isVisible={isVisible} snapshot={string(widget.get('snapshot'))} />);
  draw(false);
  const attention = new Attention(node, draw);
  return () => {
    attention.dispose();
    root.unmount();
    engine.dispose();
  };
}

function translation(texts: unknown): IContext['trans'] {
  const language = languageOf(texts);
  const trans = new Gettext({ domain: DOMAIN, locale: language || 'en' });
  if (language) {
    trans.loadJSON(catalogue(texts), DOMAIN);
  }
  return trans;
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
