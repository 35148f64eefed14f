/**
 * The job list as a Lumino widget: in the side panel, or in a tab of the file page of Notebook 7.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { JobsList } from './list.js';
import { JobsModel } from './model.js';

export class JobsPanel extends ReactWidget {
  constructor(private readonly context: IContext) {
    super();
    this.addClass('jp-pai-JobsPanel');
    this.node.lang = context.lang;
    this.model = new JobsModel(context.engine);
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <JobsList {...this.context} model={this.model} isVisible={this.visibility.isVisible} />;
  }

  private readonly model: JobsModel;
  private readonly visibility: VisibilityObserver;
}
