/**
 * The form that submits as a widget of a cell's output, fed by a kernel. The widget's trait `request` holds what stands
 * in it, so that Python and the page edit the same request.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import { KernelEngine } from '../api/comm.js';
import type { Parameters } from '../api/engine.js';
import type { Verb } from '../api/routes.js';
import { record, string } from '../api/wire.js';
import { TrainForm } from '../train/form.js';
import { TrainModel } from '../train/panelmodel.js';
import { Attention } from '../ui/visibility.js';
import { prepare } from './page.js';
import type { IFormWidget } from './synchronize.js';
import { synchronize } from './synchronize.js';

/** Show the form of a widget in a node; return a function that removes it. `texts` is a catalog, empty for English. */
export function show(widget: IFormWidget, node: HTMLElement, texts: unknown): () => void {
  const { place, ...page } = prepare(node, texts);
  node.addEventListener('keydown', keepKey);
  const submitted = (name: string) => page.host.notify(page.trans.__('Submitted: %1', name), 'success');
  const engine = new FormEngine(widget, page.trans, submitted);
  const context = { ...page, engine };
  const model = new TrainModel(context);
  model.turn(string(record(widget.get('form'))['path']));
  const stop = model.desk ? synchronize(widget, model.desk) : () => undefined;
  const root = createRoot(place);
  root.render(<TrainForm {...context} model={model} />);
  // A form out of sight calls nothing.
  const attention = new Attention(node, isSeen => {
    if (isSeen) {
      model.isSeen = true;
    }
  });
  return () => {
    node.removeEventListener('keydown', keepKey);
    attention.dispose();
    stop();
    root.unmount();
    engine.dispose();
  };
}

/** Keep keys of the form from the page, where single letters and Enter are shortcuts for cells. */
function keepKey(event: KeyboardEvent): void {
  const isShortcut = event.ctrlKey || event.metaKey || event.altKey || event.key === 'Escape';
  if (!isShortcut || event.key === 'Enter') {
    event.stopPropagation();
  }
}

/** The engine of a form whose first request is in its widget. */
class FormEngine extends KernelEngine {
  constructor(
    private readonly widget: IFormWidget,
    trans: ConstructorParameters<typeof KernelEngine>[1],
    private readonly submitted: (name: string) => void
  ) {
    super(widget, trans);
  }

  override async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    if (verb === 'form') {
      this.start ??= this.widget.get('request');
      return { ...record(this.widget.get('form')), request: this.start };
    }
    const answer = await super.call(verb, parameters, body);
    if (verb === 'submit') {
      this.start = this.widget.get('request');
      this.submitted(string(record(record(answer)['job'])['name']));
    }
    return answer;
  }

  /** The request that the form starts with: the widget's when it was shown, later the submitted one. */
  private start: unknown = undefined;
}
