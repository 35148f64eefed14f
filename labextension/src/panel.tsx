/**
 * The list of jobs as a Lumino widget: in the side panel, or in a tab of Notebook 7's file page.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from './components/context.js';
import { JobsList } from './components/jobslist.js';
import { JobsModel } from './jobsmodel.js';

export class JobsPanel extends ReactWidget {
  constructor(private readonly context: IContext) {
    super();
    this.addClass('jp-pai-JobsPanel');
    this.model = new JobsModel(context.engine);
    // What is in a panel behind another does no work.
    this.observer = new IntersectionObserver(entries => {
      this.isInSight = entries.some(entry => entry.isIntersecting);
      this.update();
    });
    this.observer.observe(this.node);
  }

  override dispose(): void {
    this.observer.disconnect();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <JobsList {...this.context} model={this.model} isVisible={this.isInSight} />;
  }

  private readonly model: JobsModel;
  private readonly observer: IntersectionObserver;
  private isInSight = false;
}
