/**
 * The view of a run as a Lumino widget: in a cell output, or in a tab.
 */

import '../../style/views.css';
import '../../style/workflows.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { WorkflowView } from './view.js';

export class WorkflowWidget extends ReactWidget {
  /**
   * @param snapshot - for a cell output: the run's text when the notebook was saved.
   */
  constructor(
    private readonly context: IContext,
    private readonly runId: string,
    private readonly snapshot?: string
  ) {
    super();
    this.addClass('jp-pai-JobWidget');
    this.node.lang = context.lang;
    this.title.label = runId;
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return (
      <WorkflowView
        {...this.context}
        runId={this.runId}
        isVisible={this.visibility.isVisible}
        snapshot={this.snapshot}
        onLoaded={({ id, name }) => {
          this.title.label = name;
          this.title.caption = `${name} (${id})`;
        }}
      />
    );
  }

  private readonly visibility: VisibilityObserver;
}
