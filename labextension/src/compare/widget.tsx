/**
 * The comparison of jobs as a Lumino widget.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { Attention } from '../ui/visibility.js';
import { Compare } from './view.js';

export class CompareWidget extends ReactWidget {
  constructor(
    private readonly context: IContext,
    private readonly jobIds: readonly string[]
  ) {
    super();
    this.addClass('jp-pai-CompareWidget');
    this.node.lang = context.lang;
    this.attention = new Attention(this.node, () => this.update());
  }

  override dispose(): void {
    this.attention.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <Compare {...this.context} jobIds={this.jobIds} isVisible={this.attention.isSeen} />;
  }

  private readonly attention: Attention;
}
