/**
 * The front end of each widget: shows the widget's text, and loads the view from the kernel once per page. It must stay
 * small, since it is sent with every job and may be saved in the notebook.
 */

import type { IWidgetModel } from '../api/comm.js';

interface IView {
  show(widget: IWidgetModel, node: HTMLElement, texts: unknown): () => void;
}

interface ILoaded {
  readonly view: IView;
  readonly texts: unknown;
}

declare global {
  var jupyterPaiViews: Map<string, Promise<ILoaded>> | undefined;
}

// Milliseconds. A busy kernel sends the view late; the kernel of another widget may be faster.
const PATIENCE = 10_000;

function render({ model, el }: { model: IWidgetModel; el: HTMLElement }): () => void {
  const life = new AbortController();
  const words = document.createElement('pre');
  const write = () => (words.textContent = String(model.get('snapshot')));
  write();
  el.append(words);
  model.on('change:snapshot', write);
  void load(model, life.signal).then(({ view, texts }) => {
    model.off('change:snapshot', write);
    if (!life.signal.aborted) {
      const end = view.show(model, el, texts);
      life.signal.addEventListener('abort', end);
    }
  });
  return () => life.abort();
}

/** Return the view loaded on this page, else load it from the kernel. */
async function load(model: IWidgetModel, signal: AbortSignal): Promise<ILoaded> {
  const views = (globalThis.jupyterPaiViews ??= new Map<string, Promise<ILoaded>>());
  const key = String(model.get('bundle'));
  const known = views.get(key);
  if (known) {
    const found = await Promise.race([known, pause()]);
    if (found) {
      return found;
    }
  }
  const asked = ask(model, signal);
  views.set(key, asked);
  return known ? Promise.race([known, asked]) : asked;
}

function pause(): Promise<null> {
  return new Promise(resolve => setTimeout(resolve, PATIENCE, null));
}

function ask(model: IWidgetModel, signal: AbortSignal): Promise<ILoaded> {
  const page = Math.random().toString(36).slice(2);
  return new Promise((resolve, reject) => {
    const heard = (message: unknown, buffers: readonly DataView[] = []): void => {
      const said = message as { type?: unknown; page?: unknown; texts?: unknown };
      const [script, style] = buffers;
      if (said.type === 'bundle' && said.page === page && script && style) {
        model.off('msg:custom', heard);
        install(script, style).then(view => resolve({ view, texts: said.texts }), reject);
      }
    };
    model.on('msg:custom', heard);
    signal.addEventListener('abort', () => model.off('msg:custom', heard));
    model.send({ type: 'load', page });
  });
}

async function install(script: DataView, style: DataView): Promise<IView> {
  const sheet = document.createElement('style');
  sheet.textContent = new TextDecoder().decode(style);
  document.head.append(sheet);
  const address = URL.createObjectURL(new Blob([script as DataView<ArrayBuffer>], { type: 'text/javascript' }));
  try {
    return (await import(/* webpackIgnore: true */ address)) as IView;
  } finally {
    URL.revokeObjectURL(address);
  }
}

export default { render };
