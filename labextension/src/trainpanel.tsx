/**
 * The form that submits as a Lumino widget: in the side panel, or in a tab of Notebook 7's file page.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { Attention } from './attention.js';
import type { IContext } from './components/context.js';
import { TrainForm } from './components/trainform.js';
import { TrainModel } from './trainmodel.js';
import type { Json } from './wire.js';

export class TrainPanel extends ReactWidget {
  constructor(private readonly context: IContext) {
    super();
    this.addClass('jp-pai-TrainPanel');
    this.model = new TrainModel(context);
    this.model.follow(this.life.signal);
    this.attention = new Attention(this.node, isSeen => {
      this.model.isSeen = isSeen;
      this.update();
    });
  }

  readonly model: TrainModel;

  /** Show the form for a path, and go there. */
  async open(path: string, request?: Json): Promise<void> {
    const opened = this.model.open(path, request);
    this.enter();
    await opened;
  }

  override dispose(): void {
    this.life.abort();
    this.attention.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <TrainForm {...this.context} model={this.model} />;
  }

  /** Whoever asked for the form goes on in it, as soon as it is drawn. */
  private enter(): void {
    void this.renderPromise?.then(() => this.node.querySelector<HTMLElement>('.jp-pai-Train')?.focus());
  }

  private readonly life = new AbortController();
  private readonly attention: Attention;
}
