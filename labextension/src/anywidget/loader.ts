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
const WAIT_FOR_OTHER = 10_000;

function render({ model, el }: { model: IWidgetModel; el: HTMLElement }): () => void {
  const controller = new AbortController();
  const text = document.createElement('pre');
  const write = () => (text.textContent = String(model.get('snapshot')));
  write();
  el.append(text);
  model.on('change:snapshot', write);
  void load(model, controller.signal).then(({ view, texts }) => {
    model.off('change:snapshot', write);
    if (!controller.signal.aborted) {
      const end = view.show(model, el, texts);
      controller.signal.addEventListener('abort', end);
    }
  });
  return () => controller.abort();
}

/** Return the view loaded on this page, else load it from the kernel. */
async function load(model: IWidgetModel, signal: AbortSignal): Promise<ILoaded> {
  const views = (globalThis.jupyterPaiViews ??= new Map<string, Promise<ILoaded>>());
  const key = String(model.get('bundle'));
  const loading = views.get(key);
  if (loading) {
    const loaded = await Promise.race([loading, pause()]);
    if (loaded) {
      return loaded;
    }
  }
  const requested = requestView(model, signal);
  views.set(key, requested);
  return loading ? Promise.race([loading, requested]) : requested;
}

function pause(): Promise<null> {
  return new Promise(resolve => setTimeout(resolve, WAIT_FOR_OTHER, null));
}

function requestView(model: IWidgetModel, signal: AbortSignal): Promise<ILoaded> {
  const page = Math.random().toString(36).slice(2);
  return new Promise((resolve, reject) => {
    const receive = (message: unknown, buffers: readonly DataView[] = []): void => {
      const data = message as { type?: unknown; page?: unknown; texts?: unknown };
      const [script, style] = buffers;
      if (data.type === 'bundle' && data.page === page && script && style) {
        model.off('msg:custom', receive);
        install(script, style).then(view => resolve({ view, texts: data.texts }), reject);
      }
    };
    model.on('msg:custom', receive);
    signal.addEventListener('abort', () => model.off('msg:custom', receive));
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
