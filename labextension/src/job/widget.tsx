/**
 * The job view as a Lumino widget: in a cell output, or in a tab.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { JobModel } from '../api/jobmodel.js';
import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { JobView } from './view.js';

export class JobWidget extends ReactWidget {
  /**
   * @param snapshot - for a cell output: the job's text when the notebook was saved.
   */
  constructor(
    private readonly context: IContext,
    jobId: string,
    private readonly snapshot?: string
  ) {
    super();
    this.addClass('jp-pai-JobWidget');
    this.node.lang = context.lang;
    this.model = new JobModel(context.engine, jobId);
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  readonly model: JobModel;

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  protected override render(): React.JSX.Element {
    const isOutput = this.snapshot !== undefined;
    return (
      <JobView
        {...this.context}
        model={this.model}
        isVisible={this.visibility.isVisible}
        snapshot={this.snapshot}
        isCompact={isOutput}
      />
    );
  }

  private readonly visibility: VisibilityObserver;
}
