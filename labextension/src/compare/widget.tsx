/**
 * The comparison of jobs as a Lumino widget.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { Compare } from './view.js';

export class CompareWidget extends ReactWidget {
  constructor(
    private readonly context: IContext,
    private readonly jobIds: readonly string[]
  ) {
    super();
    this.addClass('jp-pai-CompareWidget');
    this.node.lang = context.lang;
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <Compare {...this.context} jobIds={this.jobIds} isVisible={this.visibility.isVisible} />;
  }

  private readonly visibility: VisibilityObserver;
}
