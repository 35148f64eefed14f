/**
 * The Train form as a widget in a cell output, fed by a kernel. The trait `request` of the widget contains the request
 * of the form, so that Python and the page edit the same one.
 */

import * as React from 'react';
import { createRoot } from 'react-dom/client';

import { KernelEngine } from '../api/comm.js';
import type { Parameters } from '../api/engine.js';
import type { Verb } from '../api/routes.js';
import { record, string } from '../api/wire.js';
import { TrainForm } from '../train/form.js';
import { TrainPanelModel } from '../train/panelmodel.js';
import { keepPlainKey } from '../ui/keys.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { prepare } from './page.js';
import type { IFormWidget } from './synchronize.js';
import { synchronize } from './synchronize.js';

/** Show the form of a widget in a node; return a function that removes it. `texts` is a catalog, empty for English. */
export function show(widget: IFormWidget, node: HTMLElement, texts: unknown): () => void {
  const { container, ...page } = prepare(node, texts);
  node.addEventListener('keydown', keepPlainKey);
  const onSubmitted = (name: string) => page.host.notify(page.trans.__('Submitted: %1', name), 'success');
  const engine = new FormEngine(widget, page.trans, onSubmitted);
  const context = { ...page, engine };
  const model = new TrainPanelModel(context);
  model.activate(string(record(widget.get('form'))['path']));
  const stop = model.form ? synchronize(widget, model.form) : () => undefined;
  const root = createRoot(container);
  root.render(<TrainForm {...context} model={model} />);
  // A form that was never visible makes no calls.
  const visibility = new VisibilityObserver(node, isVisible => {
    if (isVisible) {
      model.isVisible = true;
    }
  });
  return () => {
    node.removeEventListener('keydown', keepPlainKey);
    visibility.dispose();
    stop();
    root.unmount();
    engine.dispose();
  };
}

/** The engine of a form whose initial request is stored in its widget. */
class FormEngine extends KernelEngine {
  constructor(
    private readonly widget: IFormWidget,
    trans: ConstructorParameters<typeof KernelEngine>[1],
    private readonly onSubmitted: (name: string) => void
  ) {
    super(widget, trans);
  }

  override async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    if (verb === 'form') {
      this.initialRequest ??= this.widget.get('request');
      return { ...record(this.widget.get('form')), request: this.initialRequest };
    }
    const response = await super.call(verb, parameters, body);
    if (verb === 'submit') {
      this.initialRequest = this.widget.get('request');
      this.onSubmitted(string(record(record(response)['job'])['name']));
    }
    return response;
  }

  /** The initial request: the widget's when it was shown, later the submitted one. */
  private initialRequest: unknown = undefined;
}
