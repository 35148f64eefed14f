/**
 * The job view as a widget of a page without our extension, fed by a kernel. With what it needs it becomes one file,
 * which `loader.ts` fetches; React is in it, since such a page has none to share.
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

/** Show a widget's job in a node; what is given back ends that. `texts` is our catalogue, empty for English. */
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

/** Whose colours there are: those of VS Code or JupyterLab, else our own, light or dark; nothing to be done in the latter's. */
function theme(): string {
  const style = getComputedStyle(document.body);
  if (style.getPropertyValue('--vscode-editor-background')) {
    return 'vscode';
  }
  if (document.body.dataset['jpThemeName']) {
    return '';
  }
  const chosen = document.documentElement.getAttribute('theme'); // Colab's
  const isDark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  return isDark ? 'dark' : 'light';
}
